// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/guard/gradient_guard.h"

#include <string>

#include "kernels/base/error.h"
#include "kernels/runtime/guard/finite.h"
#include "kernels/runtime/plan.h"

namespace regatta {

void GradientGuard::run(const StepContext& context) {
  kernel_->run(context);
  for (const Tensor& gradient : gradients_) {
    if (all_finite(gradient)) continue;
    throw RunError(ErrorKind::Diverged,
                   "a gradient is not finite at step " + std::to_string(context.step) + " on " +
                       to_string(maker_.place) + ": the output of " +
                       std::string(to_string(maker_.op)) + " in layer " + maker_.layer);
  }
}

std::set<Value> gradients_leaving_backward(const Graph& graph) {
  std::set<Value> leaving;
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::Communication && node.phase != Phase::Update) continue;
    for (const Value input : node.inputs) {
      const Value value = what_is_viewed(graph, input);
      if (graph.node(value.node).phase == Phase::Backward) leaving.insert(value);
    }
  }
  return leaving;
}

std::unique_ptr<Kernel> guarded(std::unique_ptr<Kernel> kernel, const Graph& graph, NodeId id,
                                std::span<const Tensor> outputs, const std::set<Value>& leaving) {
  std::vector<Tensor> gradients;
  for (int i = 0; i < static_cast<int>(outputs.size()); ++i) {
    if (leaving.contains({id, i})) gradients.push_back(outputs[static_cast<std::size_t>(i)]);
  }
  if (gradients.empty()) return kernel;
  return std::make_unique<GradientGuard>(std::move(kernel), std::move(gradients), graph.node(id));
}

}  // namespace regatta
