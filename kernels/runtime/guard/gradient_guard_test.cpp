// SPDX-License-Identifier: Apache-2.0
//
// Tests that a backward kernel that makes a gradient which is not finite ends its step.
// divergence_test runs whole steps behind guards.
#include "kernels/runtime/guard/gradient_guard.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/base/error_for_test.h"
#include "kernels/runtime/test_support.h"

namespace regatta {
namespace {

using regatta::testing_support::error_of;

TEST(GradientGuard, EndsTheStepThatMakesAGradientWhichIsNotFinite) {
  float made = 1;
  float gradient = 0;
  Node maker{.op = Op::DenseBackwardWeights};
  maker.layer = "y";
  maker.place.replica = 1;
  GradientGuard guard(make_kernel([&](const StepContext&) { gradient = made; }),
                      {{.type = {ElementType::F32, {1}}, .data = &gradient}}, maker);
  guard.run({.step = 6, .examples = 60});
  EXPECT_EQ(gradient, 1);
  made = std::numeric_limits<float>::quiet_NaN();
  const std::string error =
      error_of([&] { guard.run({.step = 7, .examples = 70}); }, ErrorKind::Diverged);
  EXPECT_EQ(error,
            "a gradient is not finite at step 7 on replica1: the output of "
            "dense_backward_weights in layer y");
}

TEST(GradientGuard, StandsBehindTheGradientOfEachParameter) {
  const Step step = testing_support::parabola(10);
  std::size_t parameters = 0;
  for (const Variable& variable : step.graph.variables()) {
    parameters += variable.kind == VariableKind::Parameter ? 1U : 0U;
  }
  EXPECT_EQ(gradients_leaving_backward(step.graph).size(), parameters);
}

}  // namespace
}  // namespace regatta
