// SPDX-License-Identifier: Apache-2.0
//
// Converts a kernel's step context to the moment that NodeSteps uses (graph/node_steps.h).
#pragma once

#include "kernels/graph/node_steps.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

inline StepMoment step_moment_of(const StepContext& context) {
  return {.step = context.step,
          .examples = context.examples,
          .before = context.examples_before,
          .batch = context.batch};
}

}  // namespace regatta
