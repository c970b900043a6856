// SPDX-License-Identifier: Apache-2.0
//
// slow += (1 - d) (w - slow); w = slow, with d = decay(examples seen when this step has ended).
// Runs every `period` steps, and with d = 1 when all examples of the run have been seen. Where
// loops share the parameter, no loop counts all steps: there each loop's kernel runs when the
// examples seen by all have passed another multiple of period * global_batch since the loop's step
// before.
#include "kernels/cpu/factories.h"
#include "kernels/cpu/shared_update.h"
#include "kernels/runtime/schedule.h"

namespace regatta::cpu {
namespace {

class Lookahead {
 public:
  explicit Lookahead(const KernelRequest& request)
      : parameter_(request.variables[0]),
        slow_(request.variables[1]->tensor.f32()),
        parts_(parts_for(request.threads, request.variables[0]->tensor.elements())),
        decay_at_(request.node.attributes),
        period_(request.node.attributes.integer("period")),
        global_batch_(request.node.attributes.integer("global_batch")),
        total_examples_(request.node.attributes.integer("total_examples")) {}

  void operator()(const StepContext& context) const {
    const std::int64_t seen =
        context.examples + (context.step_examples != 0 ? context.step_examples : global_batch_);
    const bool last = seen >= total_examples_;
    const bool moves = due(context);
    if (!moves && !last) return;
    const auto take = moves ? static_cast<float>(1 - decay_at_(seen)) : 0.0F;
    update_elements(*parameter_, parts_, [&](auto access, auto begin, auto end) {
      update<decltype(access)>(take, begin, end);
    });
    count_update(*parameter_, nullptr, context.counters);
  }

 private:
  bool due(const StepContext& context) const {
    if (!loops_step_apart(*parameter_)) return (context.step + 1) % period_ == 0;
    const std::int64_t examples = period_ * global_batch_;
    return context.examples / examples != context.examples_before / examples;
  }

  template <typename Access>
  void update(float take, std::int64_t begin, std::int64_t end) const {
    float* slow = slow_;
    float* parameter = parameter_->tensor.f32();
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      const float before = Access::load(slow + i);
      const float after = before + take * (Access::load(parameter + i) - before);
      Access::store(slow + i, after);
      Access::store(parameter + i, after);
    }
  }

  VariableStorage* parameter_;
  float* slow_;
  int parts_;
  ScheduleFunction decay_at_;
  std::int64_t period_;
  std::int64_t global_batch_;
  std::int64_t total_examples_;
};

}  // namespace

KernelPointer lookahead(const KernelRequest& request) {
  if (request.variables[0]->tensor.type.element != ElementType::F32) return nullptr;
  return make_kernel(Lookahead(request));
}

}  // namespace regatta::cpu
