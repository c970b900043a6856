// SPDX-License-Identifier: Apache-2.0
//
// Clipping by the global norm under strategies: who exchanges it. equivalence_test.cpp compares the
// values with those of `single`.
#include <gtest/gtest.h>

#include "strategies/equivalence_for_test.h"

namespace regatta::strategies {
namespace {

using testing_support::Case;

Step placed(const Case& test) {
  return apply(find_strategies(test.strategy), step_of(test), options_of(test).options);
}

/// The number of nodes that exchange the norm.
std::int64_t exchanges(const Case& test) {
  std::int64_t count = 0;
  const Step step = placed(test);
  for (const Node& node : step.graph.nodes()) {
    if (node.op == Op::AllReduce && node.layer == "clip") {
      EXPECT_EQ(node.outputs, (std::vector<TensorType>{{ElementType::F32, {1}}}));
      ++count;
    }
  }
  return count;
}

TEST(Clipping, SendsOneNumberWherePlacesApplyDifferentGradients) {
  const auto of = [](const char* strategy, std::int64_t replicas, std::int64_t stages,
                     std::int64_t shards = 1) {
    return exchanges({.workload = "parabola_clipped",
                      .strategy = strategy,
                      .replicas = replicas,
                      .stages = stages,
                      .shards = shards,
                      .global_batch = 50});
  };
  EXPECT_EQ(of("single", 1, 1), 0);
  EXPECT_EQ(of("all_reduce", 3, 1), 0);
  EXPECT_EQ(of("local_sgd", 3, 1), 0);
  EXPECT_EQ(of("sharded", 3, 1), 3);
  EXPECT_EQ(of("model_parallel", 1, 2), 2);
  EXPECT_EQ(of("all_reduce+tensor_parallel", 2, 1, 2), 4);
  EXPECT_EQ(of("all_reduce+pipeline+tensor_parallel", 2, 2, 2), 8);
}

TEST(Clipping, MovesTheParabolaFurtherThanTheBound) {
  Case test{.workload = "parabola_clipped", .strategy = "single", .global_batch = 50};
  const testing_support::Result& clipped = result_of(test);
  test.workload = "parabola";
  EXPECT_GT(deviation_from_single(test, clipped).parameters, 1000 * bounds_of(test).parameters);
}

TEST(Clipping, LimitsTheMeanGradientOfAShareThatIsAppliedAlone) {
  const Step step = placed({.workload = "parabola_clipped",
                            .strategy = "async_shared",
                            .replicas = 2,
                            .global_batch = 50});
  int divisors = 0;
  for (const Node& node : step.graph.nodes()) {
    if (node.op != Op::ClipDivisor) continue;
    EXPECT_DOUBLE_EQ(node.attributes.real("limit"), 0.05 / 2);
    ++divisors;
  }
  EXPECT_EQ(divisors, 2);
}

TEST(Clipping, RefusesServersThatDoNotWaitForEachOther) {
  Case test{.workload = "parabola_clipped",
            .strategy = "parameter_server",
            .replicas = 2,
            .global_batch = 50,
            .options = {{"backup_workers", 1}, {"servers", 1}}};
  EXPECT_NO_THROW((void)placed(test));
  test.options["servers"] = 2;
  EXPECT_THROW((void)placed(test), RunError);
}

}  // namespace
}  // namespace regatta::strategies
