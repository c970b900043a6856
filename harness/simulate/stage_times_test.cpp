// SPDX-License-Identifier: Apache-2.0
//
// Tests the search for the division with the shortest step, whatever the stages' times.
#include "harness/simulate/stage_times.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "harness/plan/layout.h"
#include "harness/plan/training_options.h"
#include "kernels/graph/partition.h"
#include "kernels/virtual/program.h"

namespace regatta {
namespace {

constexpr double kNodeNs = 1000;

/// Divides the parabola into two stages; all its kernels take the same time.
StageDivisions divisions_of_parabola(const StepTime& step_ns) {
  RaceRequest request;
  request.workload = "parabola";
  request.strategy = "pipeline";
  request.workers = 2;
  const Placement placement = place_without_data(request);
  const Step model = as_computed(placement, placement.workload->training(placement.recipe));
  const std::vector<Step>& parts = placement.placed->parts;
  virtual_time::KernelCosts costs;
  for (const std::string& key : virtual_time::make_program(parts, {}, 1).unknown_kernels) {
    costs[key] = kNodeNs;
  }
  return stage_divisions(model.graph, parts, costs, 1, step_ns).value();
}

TEST(StageDivisions, FollowTheTimeOfAStep) {
  for (const std::int64_t best : {1, 2, 4, 5}) {
    const StageDivisions found = divisions_of_parabola([&](const auto& parts) {
      return kNodeNs * (1 + std::abs(static_cast<double>(parts.front() - best)));
    });
    EXPECT_EQ(found.fastest.parts.front(), best);
    EXPECT_EQ(found.fastest.step_ns, kNodeNs);
    const auto sum = [](const auto& all) {
      return std::accumulate(all.begin(), all.end(),
                             typename std::decay_t<decltype(all)>::value_type{});
    };
    EXPECT_EQ(sum(found.fastest.parts), sum(found.now.parts));
    EXPECT_DOUBLE_EQ(sum(found.fastest.ns), sum(found.now.ns));
  }
}

TEST(StageDivisions, StayWhereNoOtherIsFaster) {
  const StageDivisions even = divisions_of_parabola([](const auto&) { return kNodeNs; });
  EXPECT_EQ(even.fastest.parts, even.now.parts);
  const StageDivisions only = divisions_of_parabola([&](const auto& parts) {
    return parts == even.now.parts ? kNodeNs : std::numeric_limits<double>::infinity();
  });
  EXPECT_EQ(only.fastest.parts, even.now.parts);
  EXPECT_EQ(only.now.step_ns, kNodeNs);
}

}  // namespace
}  // namespace regatta
