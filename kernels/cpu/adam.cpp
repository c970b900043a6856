// SPDX-License-Identifier: Apache-2.0
//
// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g²;
// w *= 1 - weight * rate * weight_decay;
// w -= weight * rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon), t from 1.
// t is the loop's step + 1; if loops share the variable, the number of finished updates + 1.
// Source: Kingma and Ba, arXiv:1412.6980, algorithm 1; Loshchilov and Hutter, arXiv:1711.05101.
#include <cmath>

#include "kernels/cpu/shared_update.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/schedule.h"

namespace regatta::cpu {
namespace {

class Adam {
 public:
  explicit Adam(const KernelRequest& request)
      : parameter_(request.variables[0]),
        seen_(seen_version(request)),
        gradient_(request.inputs[0].f32()),
        first_(request.variables[1]->tensor.f32()),
        second_(request.variables[2]->tensor.f32()),
        parts_(parts_for(request.threads, request.inputs[0].elements())),
        rate_at_(request.node.attributes),
        beta1_(request.node.attributes.real("beta1")),
        beta2_(request.node.attributes.real("beta2")),
        weight_(request.node.attributes.real("weight")),
        decay_(request.node.attributes.real("weight_decay")),
        epsilon_(static_cast<float>(request.node.attributes.real("epsilon"))) {}

  void operator()(const StepContext& context) const {
    const auto t = static_cast<double>(number_of_update(context));
    const double rate = weight_ * rate_at_(context.examples);
    const Scales scales{.keep = static_cast<float>(1 - rate * decay_),
                        .rate = static_cast<float>(rate / (1 - std::pow(beta1_, t))),
                        .second = static_cast<float>(1 / (1 - std::pow(beta2_, t)))};
    update_elements(*parameter_, parts_, [&](auto access, auto begin, auto end) {
      update<decltype(access)>(scales, begin, end);
    });
    count_update(*parameter_, seen_, context.counters);
  }

 private:
  /// `rate` and `second` are corrected for moments that start at zero.
  struct Scales {
    float keep = 0;  ///< the part of the weights that decay leaves
    float rate = 0;
    float second = 0;
  };

  std::int64_t number_of_update(const StepContext& context) const {
    if (!loops_step_apart(*parameter_)) return context.step + 1;
    return static_cast<std::int64_t>(updates_of(*parameter_, std::memory_order_relaxed)) + 1;
  }

  template <typename Access>
  void update(const Scales& scales, std::int64_t begin, std::int64_t end) const {
    const auto keep1 = static_cast<float>(beta1_), keep2 = static_cast<float>(beta2_);
    const auto take1 = static_cast<float>(1 - beta1_), take2 = static_cast<float>(1 - beta2_);
    const float keep = scales.keep, rate = scales.rate, correction = scales.second,
                epsilon = epsilon_;
    const float* gradient = gradient_;
    float* first = first_;
    float* second = second_;
    float* parameter = parameter_->tensor.f32();
#pragma omp simd if (simd : Access::kVectors)
    for (std::int64_t i = begin; i < end; ++i) {
      const float g = gradient[i];
      const float m = keep1 * Access::load(first + i) + take1 * g;
      const float v = keep2 * Access::load(second + i) + take2 * g * g;
      Access::store(first + i, m);
      Access::store(second + i, v);
      const float w = Access::load(parameter + i);
      Access::store(parameter + i, keep * w - rate * m / (std::sqrt(v * correction) + epsilon));
    }
  }

  VariableStorage* parameter_;
  const SeenVersion* seen_;
  const float* gradient_;
  float* first_;
  float* second_;
  int parts_;
  ScheduleFunction rate_at_;
  double beta1_;
  double beta2_;
  double weight_;
  double decay_;
  float epsilon_;
};

KernelPointer adam(const KernelRequest& request) {
  if (request.inputs[0].type.element != ElementType::F32) return nullptr;
  return make_kernel(Adam(request));
}

}  // namespace

KernelRows adam_kernels() { return {{Op::Adam, adam}}; }

}  // namespace regatta::cpu
