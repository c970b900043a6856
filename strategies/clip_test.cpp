// SPDX-License-Identifier: Apache-2.0
//
// Clipping by the global norm under strategies: who exchanges it. equivalence_test.cpp compares the
// values with those of `single`.
#include <gtest/gtest.h>

#include "strategies/equivalence_for_test.h"

namespace regatta::strategies {
namespace {

using testing_support::Case;
using testing_support::case_of;

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
  for (const auto& [strategy, expected] :
       {std::pair("single", 0), std::pair("all_reduce 3", 0), std::pair("local_sgd 3", 0),
        std::pair("sharded 3", 3), std::pair("model_parallel 1x2", 2),
        std::pair("all_reduce+tensor_parallel 2x1x2", 4),
        std::pair("all_reduce+pipeline+tensor_parallel 2x2x2", 8)}) {
    EXPECT_EQ(exchanges(case_of("parabola_clipped 50 " + std::string(strategy))), expected)
        << strategy;
  }
}

/// Adam hides a wrong norm from losses and parameters. Workers divide the gains of norms, which all
/// shards hold, otherwise at each shard, because shards of 65 tokens differ.
TEST(Clipping, CountsEachElementOfAModelOnce) {
  const auto counted = [](const std::string& strategy) {
    const Step step = placed(case_of("gpt_narrow 12 " + strategy));
    std::int64_t elements = 0;
    for (const Node& node : step.graph.nodes()) {
      if (node.op != Op::SquaredNorm) continue;
      for (const Value gradient : node.inputs) elements += step.graph.type(gradient).elements();
    }
    return elements;
  };
  const std::int64_t all = counted("single");
  EXPECT_GT(all, 0);
  for (const char* strategy :
       {"sharded 3 bucket_bytes=8192", "tensor_parallel 1x1x2", "tensor_parallel 1x1x3",
        "pipeline+tensor_parallel 1x2x2", "sharded+tensor_parallel 3x1x2 bucket_bytes=8192",
        "sharded+tensor_parallel 2x1x3 bucket_bytes=8192",
        "sharded+pipeline+tensor_parallel 2x2x2 bucket_bytes=8192",
        "sharded+context_parallel 3x1x2 bucket_bytes=8192"}) {
    EXPECT_EQ(counted(strategy), all) << strategy;
  }
}

TEST(Clipping, MovesTheParabolaFurtherThanTheBound) {
  Case test = case_of("parabola_clipped 50 single");
  const testing_support::Result& clipped = result_of(test);
  test.workload = "parabola";
  EXPECT_GT(deviation_from_single(test, clipped).parameters, 1000 * bounds_of(test).parameters);
}

TEST(Clipping, LimitsTheMeanGradientOfAShareThatIsAppliedAlone) {
  const Step step = placed(case_of("parabola_clipped 50 async_shared 2"));
  int divisors = 0;
  for (const Node& node : step.graph.nodes()) {
    if (node.op != Op::ClipDivisor) continue;
    EXPECT_DOUBLE_EQ(node.attributes.real("limit"), 0.05 / 2);
    ++divisors;
  }
  EXPECT_EQ(divisors, 2);
}

TEST(Clipping, RefusesServersThatDoNotWaitForEachOther) {
  Case test = case_of("parabola_clipped 50 parameter_server 2 backup_workers=1 servers=1");
  EXPECT_NO_THROW((void)placed(test));
  test.options["servers"] = 2;
  EXPECT_THROW((void)placed(test), RunError);
}

}  // namespace
}  // namespace regatta::strategies
