// SPDX-License-Identifier: Apache-2.0
//
// Looks at gradients that leave backward (for an update, a collective, another place) as soon as
// they are made, while they are in the cache. So one that is not finite is found at the worker and
// in the step that made it, though the loss was still finite, and reaches no other place.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

/// Behind each run of a kernel of backward.
class GradientGuard final : public Kernel {
 public:
  /// `gradients`: those of its outputs that leave backward. `maker` outlives the guard.
  GradientGuard(std::unique_ptr<Kernel> kernel, std::vector<Tensor> gradients, const Node& maker)
      : kernel_(std::move(kernel)), gradients_(std::move(gradients)), maker_(maker) {}
  /// Throws: RunError(Diverged) that names step, place and tensor.
  void run(const StepContext& context) override;

 private:
  std::unique_ptr<Kernel> kernel_;
  std::vector<Tensor> gradients_;
  const Node& maker_;
};

/// What kernels of backward make and nodes of communication or update read, be it through a view.
std::set<Value> gradients_leaving_backward(const Graph& graph);

/// The kernel of a node behind a guard where it makes some of those; else as it is.
std::unique_ptr<Kernel> guarded(std::unique_ptr<Kernel> kernel, const Graph& graph, NodeId id,
                                std::span<const Tensor> outputs, const std::set<Value>& leaving);

}  // namespace regatta
