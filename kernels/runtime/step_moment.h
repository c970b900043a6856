// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/graph/node_steps.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

/// The step that a kernel runs in, as its node's steps sees it.
inline StepMoment step_moment_of(const StepContext& context) {
  return {.step = context.step,
          .examples = context.examples,
          .before = context.examples_before,
          .batch = context.step_examples};
}

}  // namespace regatta
