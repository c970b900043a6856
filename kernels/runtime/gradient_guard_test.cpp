// SPDX-License-Identifier: Apache-2.0
//
// A kernel behind the guard runs on finite gradients only, and is not disturbed by what no longer
// counts. Whole steps behind guards: executor_test.
#include "kernels/runtime/gradient_guard.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/graph/error.h"

namespace regatta {
namespace {

TEST(GradientGuard, KeepsTheKernelFromAGradientThatIsNotFinite) {
  float gradient = 1;
  int runs = 0;
  GradientGuard guard(make_kernel([&runs](const StepContext&) { ++runs; }),
                      {{.tensor = {.type = {ElementType::F32, {1}}, .data = &gradient},
                        .expiry = 100,
                        .name = "the output of x in layer y"}},
                      "replica1");
  guard.run({.step = 6, .examples = 60});
  EXPECT_EQ(runs, 1);
  gradient = std::numeric_limits<float>::quiet_NaN();
  try {
    guard.run({.step = 7, .examples = 70});
    FAIL() << "it went unnoticed";
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Diverged);
    EXPECT_EQ(std::string(error.what()),
              "a gradient is not finite at step 7 on replica1; the first tensor that is not "
              "finite: the output of x in layer y");
  }
  EXPECT_EQ(runs, 1);
  guard.run({.step = 10, .examples = 100});  // its memory may be another tensor's by now
  EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace regatta
