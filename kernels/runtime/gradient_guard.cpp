// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/gradient_guard.h"

#include <utility>

#include "kernels/graph/error.h"
#include "kernels/runtime/finite.h"

namespace regatta {

GradientGuard::GradientGuard(std::unique_ptr<Kernel> kernel, std::vector<GuardedGradient> gradients,
                             std::string place)
    : kernel_(std::move(kernel)), gradients_(std::move(gradients)), place_(std::move(place)) {}

void GradientGuard::run(const StepContext& context) {
  for (const GuardedGradient& gradient : gradients_) {
    if (context.examples >= gradient.expiry || all_finite(gradient.tensor)) continue;
    throw RunError(ErrorKind::Diverged,
                   "a gradient is not finite at step " + std::to_string(context.step) + " on " +
                       place_ + "; the first tensor that is not finite: " + gradient.name);
  }
  kernel_->run(context);
}

std::unique_ptr<Kernel> guarded(std::unique_ptr<Kernel> kernel, const Graph& graph,
                                const Node& node, std::span<const Tensor> inputs,
                                std::span<const std::int64_t> expiries) {
  if (node.phase != Phase::Communication && node.phase != Phase::Update) return kernel;
  std::vector<GuardedGradient> gradients;
  Place place = node.place;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const NodeId source = node.inputs[i].node;
    const Node& maker = graph.node(source);
    if (maker.phase != Phase::Backward) continue;
    place = maker.place;
    gradients.push_back(
        {.tensor = inputs[i],
         .expiry = expiries[static_cast<std::size_t>(source)],
         .name = "the output of " + std::string(to_string(maker.op)) + " in layer " + maker.layer});
  }
  if (gradients.empty()) return kernel;
  return std::make_unique<GradientGuard>(std::move(kernel), std::move(gradients), to_string(place));
}

}  // namespace regatta
