// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/plant.h"

#include <gtest/gtest.h>

#include "harness/plan/placement.h"
#include "kernels/graph/op.h"
#include "kernels/runtime/plant.h"

namespace regatta {
namespace {

TEST(Plant, OfAWrongAverageIsInTheGradientOfOneWorkerOnly) {
  RaceRequest request;
  request.workload = "parabola";
  request.strategy = "all_reduce";
  request.workers = 3;
  const Step right = placed_step(place(request, 50));
  const Step wrong = wrongly_averaged(right);
  ASSERT_EQ(wrong.graph.nodes().size(), right.graph.nodes().size());
  int halved = 0;
  for (std::size_t i = 0; i < right.graph.nodes().size(); ++i) {
    const Node& before = right.graph.nodes()[i];
    const Node& after = wrong.graph.nodes()[i];
    EXPECT_EQ(after.inputs, before.inputs);
    if (after.attributes == before.attributes) continue;
    ++halved;
    EXPECT_EQ(after.place.replica, 1);
    EXPECT_EQ(after.op, Op::MeanSquaredErrorBackward);
    EXPECT_EQ(after.attributes.integer("divisor"), 2 * before.attributes.integer("divisor"));
  }
  EXPECT_EQ(halved, 1);
}

TEST(Plant, IsInNoOrdinaryBuild) { EXPECT_EQ(kPlant, ""); }

}  // namespace
}  // namespace regatta
