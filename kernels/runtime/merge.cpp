// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/merge.h"

#include <algorithm>
#include <vector>

namespace regatta {
namespace {

/// Whether `later` may not run before `earlier`: a variable of both, or a value that it reads.
bool depends(const Node& later, const NodeKernel& earlier) {
  const std::vector<VariableId>& used = earlier.node->variables;
  return std::any_of(
             later.variables.begin(), later.variables.end(),
             [&](VariableId v) { return std::find(used.begin(), used.end(), v) != used.end(); }) ||
         std::any_of(later.inputs.begin(), later.inputs.end(),
                     [&](const Value& input) { return input.node == earlier.id; });
}

}  // namespace

void merge_kernels(std::span<const NodeKernel> kernels) {
  std::vector<bool> is_taken(kernels.size());  // runs with an earlier one
  for (std::size_t head = 0; head < kernels.size(); ++head) {
    if (is_taken[head]) continue;
    std::vector<Kernel*> others;
    for (std::size_t i = head + 1; i < kernels.size(); ++i) {
      const Node& node = *kernels[i].node;
      // What it would write earlier may still be another value's memory.
      if (is_taken[i] || !node.outputs.empty()) continue;
      if (!kernels[head].kernel->merges_with(*kernels[i].kernel)) continue;
      bool is_free = true;
      for (std::size_t before = head; before < i && is_free; ++before) {
        const bool runs_earlier =
            is_taken[before] &&
            std::find(others.begin(), others.end(), kernels[before].kernel) == others.end();
        is_free = runs_earlier || !depends(node, kernels[before]);
      }
      if (!is_free) continue;
      is_taken[i] = true;
      others.push_back(kernels[i].kernel);
    }
    if (!others.empty()) kernels[head].kernel->take_over(others);
  }
}

}  // namespace regatta
