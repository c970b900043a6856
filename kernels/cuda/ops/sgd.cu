// SPDX-License-Identifier: Apache-2.0
//
// g' = g + weight * weight_decay * w;  v = momentum * v + g';  w -= rate * d. The direction d is g'
// without momentum (the velocity then stays unchanged), v with it, g' + momentum * v by Nesterov.
#include "kernels/cuda/ops/update.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

struct Sgd {
  static constexpr int kVariables = 2;
  struct Factors {
    float rate;
  };

  DeviceSchedule rate_at;
  float momentum;
  float decay;
  bool nesterov;

  __host__ __device__ Factors factors(const StepValues& step) const {
    return {.rate = static_cast<float>(rate_at(step.examples))};
  }

  __host__ __device__ void update(const Factors& factors, float gradient,
                                  float (&variables)[kVariables]) const {
    float& w = variables[0];
    float& v = variables[1];
    const float g = gradient + decay * w;
    float direction = g;
    if (momentum != 0) {
      v = momentum * v + g;
      direction = nesterov ? g + momentum * v : v;
    }
    w -= factors.rate * direction;
  }
};

KernelPointer sgd(const KernelRequest& request) {
  return build_update(request, [&](const DeviceSchedule& rate_at) {
    const Attributes& attributes = request.node.attributes;
    return Sgd{
        .rate_at = rate_at,
        .momentum = static_cast<float>(attributes.real("momentum")),
        .decay = static_cast<float>(attributes.real("weight") * attributes.real("weight_decay")),
        .nesterov = attributes.integer("nesterov") != 0};
  });
}

}  // namespace

KernelRows sgd_kernels() { return {{Op::Sgd, sgd}}; }

}  // namespace regatta::cuda
