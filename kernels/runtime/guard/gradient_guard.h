// SPDX-License-Identifier: Apache-2.0
//
// Checks that gradients are finite as soon as they are computed, while they are in the cache. Only
// the gradients that leave the backward pass are checked: for an update, a collective or another
// place. A gradient that is not finite is thus found at the worker and in the step that made it,
// even if the loss is still finite, and does not reach any other place.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

/// Runs a backward kernel, then checks its gradients.
class GradientGuard final : public Kernel {
 public:
  /// `gradients` are the kernel's outputs that leave the backward pass; `maker` is the kernel's
  /// node.
  GradientGuard(std::unique_ptr<Kernel> kernel, std::vector<Tensor> gradients, Node maker)
      : kernel_(std::move(kernel)), gradients_(std::move(gradients)), maker_(std::move(maker)) {}
  /// Throws: RunError(Diverged) that names step, place and tensor.
  void run(const StepContext& context) override;

 private:
  std::unique_ptr<Kernel> kernel_;
  std::vector<Tensor> gradients_;
  Node maker_;
};

/// Returns the values that backward nodes make and that communication or update nodes read,
/// directly or through a view.
std::set<Value> gradients_leaving_backward(const Graph& graph);

/// Wraps the kernel in a guard if it computes any of the `leaving` values
/// (gradients_leaving_backward()); otherwise returns it unchanged.
std::unique_ptr<Kernel> guarded(std::unique_ptr<Kernel> kernel, const Graph& graph, NodeId id,
                                std::span<const Tensor> outputs, const std::set<Value>& leaving);

}  // namespace regatta
