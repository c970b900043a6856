// SPDX-License-Identifier: Apache-2.0
//
// What the bounds of equivalence_test.cpp rest on: how far rounding alone drives two runs apart,
// and that an average by workers instead of by examples is seen.
#include <gtest/gtest.h>

#include <iostream>

#include "strategies/equivalence_for_test.h"

namespace regatta {
namespace {

using testing_support::Case;
using testing_support::relative_difference;
using testing_support::Result;
using testing_support::result_of;
using testing_support::single_of;
using testing_support::TrialOptions;

/// The fault that other suites have had: gradients averaged by workers, not by examples. Replica r
/// of n with m of B examples then counts B / (n m) times what it should.
Step average_by_workers(const Step& placed, std::int64_t replicas) {
  Step wrong = placed;
  wrong.graph = Graph();
  for (const Variable& variable : placed.graph.variables()) wrong.graph.add(variable);
  for (Node node : placed.graph.nodes()) {
    if (node.op == Op::MeanSquaredErrorBackward) {
      const std::int64_t own = placed.graph.type(node.inputs[0]).dim(0);
      node.attributes.set("divisor", replicas * own);
    }
    wrong.graph.add(node);
  }
  return wrong;
}

TEST(Equivalence, WouldNoticeAnAverageByWorkersInsteadOfByExamples) {
  const Case test{.workload = "parabola",
                  .strategy = "all_reduce",
                  .replicas = 3,
                  .stages = 1,
                  .global_batch = 50};
  TrialOptions options = options_of(test);
  options.options.bucket_bytes = 0;  // the placed step is given to a trial, which fills buckets
  const Step placed = apply(find_strategies("all_reduce"), step_of(test), options.options);
  const TrialOptions as_it_is = options_of(single_of(test));
  const Result& single = result_of(single_of(test));
  const Result right = result_of(placed, test, as_it_is);
  const Result wrong = result_of(average_by_workers(placed, 3), test, as_it_is);
  EXPECT_LT(relative_difference(right.parameters, single.parameters), 1e-6);
  EXPECT_GT(relative_difference(wrong.parameters, single.parameters), 1e-4);
}

TEST(Equivalence, DriftsNoFurtherThanFirstWeightsOneRoundingApart) {
  const Case cases[] = {
      {.workload = "parabola", .strategy = "all_reduce", .replicas = 5, .global_batch = 50},
      {.workload = "resnet9_thin", .strategy = "all_reduce", .replicas = 5, .global_batch = 80},
      {.workload = "mobilenet_v2_full_narrow",
       .strategy = "all_reduce",
       .replicas = 5,
       .global_batch = 40},
      {.workload = "resnet9", .strategy = "all_reduce", .replicas = 2, .global_batch = 64},
      {.workload = "resnet9_thin",
       .strategy = "all_reduce",
       .replicas = 5,
       .global_batch = 80,
       .element = ElementType::BF16},
      {.workload = "airbench94_narrow",
       .strategy = "all_reduce",
       .replicas = 2,
       .global_batch = 64,
       .element = ElementType::BF16}};
  for (const Case& test : cases) {
    TrialOptions rounded = options_of(single_of(test));
    rounded.rounding = 0x1p-23;
    const Result& single = result_of(single_of(test));
    const Result control = result_of(step_of(test), test, rounded);
    const double drift = relative_difference(result_of(test).parameters, single.parameters);
    const double of_rounding = relative_difference(control.parameters, single.parameters);
    EXPECT_LT(drift, 4 * of_rounding) << test.workload;
    std::cout << test.workload << ' ' << to_string(test.element) << ": drift " << drift
              << ", control " << of_rounding << '\n';
  }
}

}  // namespace
}  // namespace regatta
