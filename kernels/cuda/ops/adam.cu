// SPDX-License-Identifier: Apache-2.0
//
// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g²;
// w *= 1 - weight * rate * weight_decay;
// w -= weight * rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon), t from 1.
// t is the loop's step + 1; where loops share the variable, the updates finished before + 1.
// Source: Kingma and Ba, arXiv:1412.6980, algorithm 1; Loshchilov and Hutter, arXiv:1711.05101.
#include <cmath>

#include "kernels/cuda/ops/update.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

struct Adam {
  static constexpr int kVariables = 3;
  /// `rate` and `second` are corrected for moments that start at zero.
  struct Factors {
    float keep;  ///< the part of the weights that decay leaves
    float rate;
    float second;
  };

  DeviceSchedule rate_at;
  double beta1;
  double beta2;
  double weight;
  double weight_decay;
  float epsilon;
  const std::uint64_t* shared_version;  ///< null: the variable is not shared

  __host__ __device__ Factors factors(const StepValues& step) const {
    const auto t = static_cast<double>(updates_before(step) + 1);
    const double rate = weight * rate_at(step.examples);
    return {.keep = static_cast<float>(1 - rate * weight_decay),
            .rate = static_cast<float>(rate / (1 - pow(beta1, t))),
            .second = static_cast<float>(1 / (1 - pow(beta2, t)))};
  }

  __host__ __device__ std::int64_t updates_before(const StepValues& step) const {
    if (shared_version == nullptr) return step.step;
    return static_cast<std::int64_t>(finished_version(shared_version));
  }

  __host__ __device__ void update(const Factors& factors, float g,
                                  float (&variables)[kVariables]) const {
    float& w = variables[0];
    float& m = variables[1];
    float& v = variables[2];
    m = static_cast<float>(beta1) * m + static_cast<float>(1 - beta1) * g;
    v = static_cast<float>(beta2) * v + static_cast<float>(1 - beta2) * g * g;
    w = factors.keep * w - factors.rate * m / (sqrtf(v * factors.second) + epsilon);
  }
};

KernelPointer adam(const KernelRequest& request) {
  return build_update(request, [&](const DeviceSchedule& rate_at) {
    const Attributes& attributes = request.node.attributes;
    return Adam{.rate_at = rate_at,
                .beta1 = attributes.real("beta1"),
                .beta2 = attributes.real("beta2"),
                .weight = attributes.real("weight"),
                .weight_decay = attributes.real("weight_decay"),
                .epsilon = static_cast<float>(attributes.real("epsilon")),
                .shared_version = shared_version(request)};
  });
}

}  // namespace

KernelRows adam_kernels() { return {{Op::Adam, adam}}; }

}  // namespace regatta::cuda
