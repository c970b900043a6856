// SPDX-License-Identifier: Apache-2.0
//
// pipeline has the bits of a worker that accumulates over the same microbatches, under every
// schedule; and both follow `single`, including the running statistics.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "strategies/equivalence_for_test.h"

namespace regatta::strategies {
namespace {

using testing_support::Case;
using testing_support::data_of;
using testing_support::options_of;
using testing_support::Result;
using testing_support::result_of;
using testing_support::single_of;
using testing_support::step_of;
using testing_support::Trial;

/// At most two replicas: the sum of more depends on which gradients share a bucket.
struct Shape {
  std::string workload;
  std::int64_t global_batch;
  std::int64_t stages;
  std::int64_t microbatches;
  std::int64_t replicas = 1;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.workload << ", " << shape.stages << " stages, " << shape.microbatches
       << " microbatches";
}

Case case_of(const Shape& shape, std::string_view schedule) {
  const std::string strategy = shape.replicas > 1 ? "all_reduce+pipeline" : "pipeline";
  return {.workload = shape.workload,
          .strategy = strategy,
          .replicas = shape.replicas,
          .stages = shape.stages,
          .global_batch = shape.global_batch,
          .options = {{"schedule", std::string(schedule)}, {"microbatches", shape.microbatches}}};
}

class Pipeline : public testing::TestWithParam<Shape> {};

TEST_P(Pipeline, ComputesTheBitsOfAccumulationUnderEverySchedule) {
  Case in_turn = case_of(GetParam(), "gpipe");
  in_turn.strategy = GetParam().replicas > 1 ? "all_reduce" : "single";
  in_turn.stages = 1;
  in_turn.options.erase("schedule");
  const Result& accumulated = result_of(in_turn);
  for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zero_bubble"}) {
    const bool interleaves = std::string(schedule) == "interleaved";
    if (interleaves && GetParam().microbatches % GetParam().stages != 0) continue;
    const Case staged = case_of(GetParam(), schedule);
    const Result& run = result_of(staged);
    EXPECT_EQ(run.losses, accumulated.losses) << schedule;
    EXPECT_EQ(run.parameters, accumulated.parameters) << schedule;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Pipeline,
    testing::Values(Shape{"parabola", 50, 2, 5}, Shape{"parabola", 49, 3, 4},
                    Shape{"parabola", 50, 2, 7, 2}, Shape{"resnet9_thin", 80, 2, 4},
                    Shape{"resnet9_thin", 80, 3, 3}, Shape{"resnet9_thin", 80, 2, 2, 2}),
    [](const auto& test) {
      return test.param.workload + "_" + std::to_string(test.param.global_batch) + "_" +
             std::to_string(test.param.replicas) + "x" + std::to_string(test.param.stages) +
             "_of_" + std::to_string(test.param.microbatches);
    });

/// Running means and variances, by name.
std::map<std::string, std::vector<float>> statistics(const Case& test) {
  Trial run(step_of(test), data_of(test.workload), options_of(test));
  std::map<std::string, std::vector<float>> all;
  const Graph& graph = run.graph();
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    if (graph.variable(v).kind != VariableKind::Statistic) continue;
    const Tensor& tensor = run.executor().variable(v).tensor;
    all[graph.variable(v).name].assign(tensor.f32(), tensor.f32() + tensor.elements());
  }
  return all;
}

TEST(Pipeline, TakesRunningStatisticsOfTheWholeBatch) {
  for (const std::int64_t microbatches : {2, 3}) {  // ten groups: shares of 4, 3 and 3
    const Case test = case_of({"resnet9_thin", 80, 2, microbatches}, "1f1b");
    Case in_turn = single_of(test);
    const auto expected = statistics(in_turn);
    ASSERT_FALSE(expected.empty());
    in_turn.options["microbatches"] = microbatches;
    for (const Case& each : {test, in_turn}) {
      const auto found = statistics(each);
      for (const auto& [name, values] : expected) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          EXPECT_NEAR(found.at(name)[i], values[i], 1e-4 * (std::abs(values[i]) + 0.01)) << name;
        }
      }
    }
  }
}

TEST(Pipeline, KeepsFewerActivationsUnder1f1bThanUnderGpipe) {
  const auto planned = [](const char* schedule) {
    const Case test = case_of({"resnet9_thin", 256, 2, 16}, schedule);
    auto options = options_of(test);
    options.steps = 1;
    return Trial(step_of(test), data_of(test.workload), options).executor().planned_bytes();
  };
  const std::int64_t gpipe = planned("gpipe"), one = planned("1f1b");
  EXPECT_LT(2 * one, gpipe);
  std::cout << "gpipe " << gpipe << " bytes, 1f1b " << one << ", zero_bubble "
            << planned("zero_bubble") << '\n';
}

}  // namespace
}  // namespace regatta::strategies
