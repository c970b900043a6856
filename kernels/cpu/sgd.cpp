// SPDX-License-Identifier: Apache-2.0
//
// g' = g + weight * weight_decay * w;  v = momentum * v + g';  w -= rate * d. Direction d: without
// momentum g' (the velocity stays unchanged), with momentum v, by Nesterov g' + momentum * v.
#include "kernels/cpu/shared_update.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/schedule.h"

namespace regatta::cpu {
namespace {

enum class Direction : std::uint8_t { Gradient, Velocity, Nesterov };

Direction direction_of(const Attributes& attributes) {
  if (attributes.real("momentum") == 0) return Direction::Gradient;
  return attributes.integer("nesterov") != 0 ? Direction::Nesterov : Direction::Velocity;
}

template <Direction kDirection>
class Sgd {
 public:
  explicit Sgd(const KernelRequest& request)
      : parameter_(request.variables[0]),
        seen_(seen_version(request)),
        gradient_(request.inputs[0].f32()),
        velocity_(request.variables[1]->tensor.f32()),
        parts_(parts_for(request.threads, request.inputs[0].elements())),
        rate_at_(request.node.attributes),
        momentum_(static_cast<float>(request.node.attributes.real("momentum"))),
        decay_(static_cast<float>(request.node.attributes.real("weight") *
                                  request.node.attributes.real("weight_decay"))) {}

  void operator()(const StepContext& context) const {
    const auto rate = static_cast<float>(rate_at_(context.examples));
    update_elements(*parameter_, parts_, [&](auto access, auto begin, auto end) {
      update<decltype(access)>(rate, begin, end);
    });
    count_update(*parameter_, seen_, context.counters);
  }

 private:
  template <typename Access>
  void update(float rate, std::int64_t begin, std::int64_t end) const {
    const float momentum = momentum_, decay = decay_;
    const float* gradient = gradient_;
    float* velocity = velocity_;
    float* parameter = parameter_->tensor.f32();
#pragma omp simd if (simd : Access::kVectors)
    for (std::int64_t i = begin; i < end; ++i) {
      const float w = Access::load(parameter + i);
      const float g = gradient[i] + decay * w;
      float direction = g;
      if constexpr (kDirection != Direction::Gradient) {
        const float v = momentum * Access::load(velocity + i) + g;
        Access::store(velocity + i, v);
        direction = kDirection == Direction::Nesterov ? g + momentum * v : v;
      }
      Access::store(parameter + i, w - rate * direction);
    }
  }

  VariableStorage* parameter_;
  const SeenVersion* seen_;
  const float* gradient_;
  float* velocity_;
  int parts_;
  ScheduleFunction rate_at_;
  float momentum_;
  float decay_;
};

KernelPointer sgd(const KernelRequest& request) {
  if (request.inputs[0].type.element != ElementType::F32) return nullptr;
  switch (direction_of(request.node.attributes)) {
    case Direction::Gradient: return make_kernel(Sgd<Direction::Gradient>(request));
    case Direction::Velocity: return make_kernel(Sgd<Direction::Velocity>(request));
    case Direction::Nesterov: return make_kernel(Sgd<Direction::Nesterov>(request));
  }
  return nullptr;
}

}  // namespace

KernelRows sgd_kernels() { return {{Op::Sgd, sgd}}; }

}  // namespace regatta::cpu
