// SPDX-License-Identifier: Apache-2.0
//
// slow += (1 - d) (w - slow); w = slow, with d = decay(examples seen when this step has ended), or
// d = 1 in the run's last step if the node's period excludes it (kernels/graph/node_steps.h).
#include "kernels/cuda/ops/update.h"
#include "kernels/graph/node_steps.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

struct Lookahead {
  static constexpr int kVariables = 2;
  struct Factors {
    float take;
  };

  DeviceSchedule decay_at;
  NodeSteps steps;

  __host__ __device__ Factors factors(const StepValues& step) const {
    const StepMoment moment{
        .step = step.step, .examples = step.examples, .before = step.examples_before};
    if (!steps.is_in_period(moment)) return {.take = 0};
    return {.take = static_cast<float>(1 - decay_at(steps.seen_after(moment)))};
  }

  __host__ __device__ void update(const Factors& factors, float,
                                  float (&variables)[kVariables]) const {
    float& w = variables[0];
    float& slow = variables[1];
    slow += factors.take * (w - slow);
    w = slow;
  }
};

KernelPointer lookahead(const KernelRequest& request) {
  return build_update(request, [&](const DeviceSchedule& decay_at) {
    return Lookahead{.decay_at = decay_at, .steps = node_steps(request.node)};
  });
}

}  // namespace

KernelRows lookahead_kernels() { return {{Op::Lookahead, lookahead}}; }

}  // namespace regatta::cuda
