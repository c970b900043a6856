// SPDX-License-Identifier: Apache-2.0
//
// slow += (1 - d) (w - slow); w = slow, with d = decay(examples seen when this step has ended).
// Runs every `period` steps, and w = slow when all examples of the run have been seen. Where loops
// share the parameter, no loop counts all steps: there each loop's kernel runs when the examples
// seen by all have passed another multiple of period * global_batch since the loop's step before.
#include "kernels/cuda/ops/update.h"

namespace regatta::cuda {
namespace {

struct Lookahead {
  static constexpr int kVariables = 2;
  struct Factors {
    float take;
    bool idle;
  };

  DeviceSchedule decay_at;
  std::int64_t period;
  std::int64_t global_batch;
  std::int64_t total_examples;
  bool loops_step_apart;

  __host__ __device__ Factors factors(const StepValues& step) const {
    const std::int64_t seen = step.examples + global_batch;
    return {.take = due(step) ? static_cast<float>(1 - decay_at(seen)) : 0.0F, .idle = idle(step)};
  }

  __host__ __device__ bool idle(const StepValues& step) const {
    return !due(step) && step.examples + global_batch < total_examples;
  }

  __host__ __device__ bool due(const StepValues& step) const {
    if (!loops_step_apart) return (step.step + 1) % period == 0;
    const std::int64_t examples = period * global_batch;
    return step.examples / examples != step.examples_before / examples;
  }

  __host__ __device__ void update(const Factors& factors, float,
                                  float (&variables)[kVariables]) const {
    float& w = variables[0];
    float& slow = variables[1];
    slow += factors.take * (w - slow);
    w = slow;
  }
};

}  // namespace

KernelPointer lookahead(const KernelRequest& request) {
  return build_update(request, [&](const DeviceSchedule& decay_at) {
    const Attributes& attributes = request.node.attributes;
    return Lookahead{.decay_at = decay_at,
                     .period = attributes.integer("period"),
                     .global_batch = attributes.integer("global_batch"),
                     .total_examples = attributes.integer("total_examples"),
                     .loops_step_apart = request.variables[0]->sharing != Sharing::None};
  });
}

}  // namespace regatta::cuda
