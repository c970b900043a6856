// SPDX-License-Identifier: Apache-2.0
//
// slow += (1 - d) (w - slow); w = slow, with d = decay(examples seen at the end of this step). d =
// 1 in the run's last step if the node's period does not include it (kernels/graph/node_steps.h).
#include "kernels/cpu/shared_update.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/schedule.h"
#include "kernels/runtime/step_moment.h"

namespace regatta::cpu {
namespace {

class Lookahead {
 public:
  explicit Lookahead(const KernelRequest& request)
      : parameter_(request.variables[0]),
        slow_(request.variables[1]->tensor.f32()),
        parts_(parts_for(request.threads, request.variables[0]->tensor.elements())),
        decay_at_(request.node.attributes),
        steps_(node_steps(request.node)) {}

  void operator()(const StepContext& context) const {
    const StepMoment moment = step_moment_of(context);
    const bool moves = steps_.is_in_period(moment);
    const auto take = moves ? static_cast<float>(1 - decay_at_(steps_.seen_after(moment))) : 0.0F;
    update_elements(*parameter_, parts_, [&](auto access, auto begin, auto end) {
      update<decltype(access)>(take, begin, end);
    });
    count_update(*parameter_, nullptr, context.counters);
  }

 private:
  template <typename Access>
  void update(float take, std::int64_t begin, std::int64_t end) const {
    float* slow = slow_;
    float* parameter = parameter_->tensor.f32();
#pragma omp simd if (simd : Access::kVectors)
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
  NodeSteps steps_;
};

KernelPointer lookahead(const KernelRequest& request) {
  if (request.variables[0]->tensor.type.element != ElementType::F32) return nullptr;
  return make_kernel(Lookahead(request));
}

}  // namespace

KernelRows lookahead_kernels() { return {{Op::Lookahead, lookahead}}; }

}  // namespace regatta::cpu
