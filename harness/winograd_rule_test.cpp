// SPDX-License-Identifier: Apache-2.0
#include "harness/winograd_rule.h"

#include <gtest/gtest.h>

#include "harness/cell.h"
#include "kernels/graph/error.h"
#include "kernels/graph/winograd.h"

namespace regatta {
namespace {

RaceRequest wide() {
  RaceRequest request;
  request.workload = "resnet9";
  request.dataset = "shapes";
  return request;
}

Placement placement_of(const RaceRequest& request) { return place(request, 2048); }

std::string cell_says(const RaceRequest& request) {
  return cell_of(request, placement_of(request), {.dataset = "shapes", .cores = 1}).winograd;
}

/// What is said of `--winograd on`.
std::string refusal_of(RaceRequest request) {
  request.winograd = "on";
  try {
    placement_of(request);
  } catch (const RunError& error) {
    return error.what();
  }
  return "";
}

TEST(WinogradRule, IsWhatAutoDoesAndWhatTheCellSays) {
  RaceRequest request = wide();
  EXPECT_EQ(cell_says(request), "on");
  request.winograd = "on";
  EXPECT_EQ(cell_says(request), "on");
  request.winograd = "off";
  EXPECT_EQ(cell_says(request), "off");
  request = wide();
  request.dtype = "bf16";
  EXPECT_EQ(cell_says(request), "off");
  request = wide();
  request.workload = "resnet9_thin";
  EXPECT_EQ(cell_says(request), "off");
}

TEST(WinogradRule, RefusesWhatCannotBeAndSaysWhy) {
  EXPECT_EQ(refusal_of(wide()), "");
  RaceRequest request = wide();
  request.dtype = "bf16";
  EXPECT_EQ(refusal_of(request),
            "--winograd on cannot be: it is for --dtype f32; leave it out, or give --winograd off");
  request = wide();
  request.device = "cuda";
  EXPECT_NE(refusal_of(request).find("it is for --device cpu"), std::string::npos);
  request = wide();
  request.workload = "resnet9_thin";
  EXPECT_NE(refusal_of(request).find("no convolution of resnet9_thin is wide enough to gain"),
            std::string::npos);
}

TEST(WinogradRule, HoldsForTheStepAndForTheEvaluation) {
  RaceRequest request = wide();
  for (const char* asked : {"on", "off"}) {
    request.winograd = asked;
    const Placement placement = placement_of(request);
    const bool on = request.winograd == "on";
    const Step evaluation =
        as_computed(placement, placement.workload->evaluation(placement.recipe));
    EXPECT_EQ(has_winograd(placed_step(placement).graph), on);
    EXPECT_EQ(has_winograd(evaluation.graph), on);
  }
}

}  // namespace
}  // namespace regatta
