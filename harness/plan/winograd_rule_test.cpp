// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/winograd_rule.h"

#include <gtest/gtest.h>

#include "harness/plan/cell.h"
#include "kernels/base/error_for_test.h"
#include "kernels/cpu/lacks_for_test.h"
#include "kernels/rewrite/winograd.h"
#include "kernels/runtime/devices.h"

namespace regatta::plan {
namespace {

using regatta::testing_support::error_of;

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

/// The error text of `--winograd on`.
std::string refusal_of(RaceRequest request) {
  request.winograd = "on";
  return error_of([&] { placement_of(request); });
}

TEST(WinogradRule, IsWhatAutoDoesAndWhatTheCellSays) {
  RaceRequest request = wide();
  EXPECT_EQ(cell_says(request), "on");
  request.winograd = "on";
  EXPECT_EQ(cell_says(request), "on");
  request.winograd = "off";
  EXPECT_EQ(cell_says(request), "off");
  request = wide();
  request.workload = "mobilenet_v2";
  EXPECT_EQ(cell_says(request), "off");
}

TEST(WinogradRule, LeavesBf16ToAmxUnlessAsked) {
  if (const std::string why = cpu::why_cpu_lacks(ElementType::BF16); !why.empty())
    GTEST_SKIP() << why;
  RaceRequest request = wide();
  request.dtype = "bf16";
  EXPECT_EQ(cell_says(request), cpu_favours_direct_convolutions(ElementType::BF16) ? "off" : "on");
  request.winograd = "on";
  EXPECT_EQ(cell_says(request), "on");
  EXPECT_FALSE(cpu_favours_direct_convolutions(ElementType::F32));
}

TEST(WinogradRule, RefusesWhatCannotBeAndSaysWhy) {
  EXPECT_EQ(refusal_of(wide()), "");
  RaceRequest request = wide();
  request.device = "cuda";
  EXPECT_EQ(
      refusal_of(request),
      "--winograd on cannot be: it is for --device cpu; fix: leave it out, or give --winograd off");
  request = wide();
  request.workload = "mobilenet_v2";
  EXPECT_NE(refusal_of(request).find("no convolution of mobilenet_v2 gains in f32"),
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
    EXPECT_EQ(has_winograd(placement.placed->step.graph), on);
    EXPECT_EQ(has_winograd(evaluation.graph), on);
  }
}

}  // namespace
}  // namespace regatta::plan
