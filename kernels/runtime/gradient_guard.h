// SPDX-License-Identifier: Apache-2.0
//
// Looks at gradients as backward hands them on: to an update, to a collective, to another place. So
// one that is not finite is found at the worker and in the step that made it, though the loss was
// still finite, and reaches nobody.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

/// One input of a node that is a gradient.
struct GuardedGradient {
  Tensor tensor;
  std::int64_t expiry = 0;  ///< examples after which nothing makes it any more (expiry.h)
  std::string name;         ///< what the error calls it
};

/// Before each run of a kernel.
class GradientGuard final : public Kernel {
 public:
  GradientGuard(std::unique_ptr<Kernel> kernel, std::vector<GuardedGradient> gradients,
                std::string place);
  /// Throws: RunError(Diverged) that names step, place and tensor.
  void run(const StepContext& context) override;

 private:
  std::unique_ptr<Kernel> kernel_;
  std::vector<GuardedGradient> gradients_;
  std::string place_;
};

/// The kernel of `node` behind a guard, where backward hands something to it, or else as it is.
/// `inputs` of the node; `expiries` by node.
std::unique_ptr<Kernel> guarded(std::unique_ptr<Kernel> kernel, const Graph& graph,
                                const Node& node, std::span<const Tensor> inputs,
                                std::span<const std::int64_t> expiries);

}  // namespace regatta
