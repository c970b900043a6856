// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/merge.h"

#include <algorithm>

#include "kernels/runtime/plan.h"

namespace regatta {
namespace {

bool have_common(std::span<const VariableId> some, std::span<const VariableId> others) {
  return std::any_of(some.begin(), some.end(), [&](VariableId v) {
    return std::find(others.begin(), others.end(), v) != others.end();
  });
}

/// Whether `later` may not run before `earlier`: both use a variable that one of them may assign,
/// or `later` reads a value that `earlier` makes.
bool depends(const NodeKernel& later, const NodeKernel& earlier) {
  const std::span<const VariableId> used = later.node.variables;
  return have_common(used, earlier.node.variables) || have_common(used, earlier.views) ||
         have_common(later.views, earlier.node.variables) ||
         std::any_of(later.node.inputs.begin(), later.node.inputs.end(),
                     [&](const Value& input) { return input.node == earlier.id; });
}

}  // namespace

NodeKernel node_kernel(const Graph& graph, NodeId id, Kernel& kernel) {
  NodeKernel all{.id = id, .node = graph.node(id), .kernel = &kernel};
  for (const Value input : all.node.inputs) {
    const Node& source = graph.node(what_is_viewed(graph, input).node);
    if (is_view(graph, source)) {
      all.views.push_back(source.variables[0]);
    } else {
      all.reads_values = true;
    }
  }
  return all;
}

void merge_kernels(std::span<const NodeKernel> kernels) {
  std::vector<bool> is_taken(kernels.size());  // runs with an earlier one
  for (std::size_t head = 0; head < kernels.size(); ++head) {
    if (is_taken[head]) continue;
    std::vector<Kernel*> others;
    bool is_past_values = kernels[head].reads_values;
    for (std::size_t i = head + 1; i < kernels.size(); ++i) {
      const bool makes_values = !kernels[i].node.outputs.empty();
      is_past_values = is_past_values || kernels[i].reads_values;
      if (is_taken[i] || (is_past_values && makes_values)) continue;
      if (!kernels[head].kernel->merges_with(*kernels[i].kernel)) continue;
      bool is_free = true;
      for (std::size_t before = head; before < i && is_free; ++before) {
        const bool runs_earlier =
            is_taken[before] &&
            std::find(others.begin(), others.end(), kernels[before].kernel) == others.end();
        is_free = runs_earlier || !depends(kernels[i], kernels[before]);
      }
      if (!is_free) continue;
      is_taken[i] = true;
      others.push_back(kernels[i].kernel);
    }
    if (!others.empty()) kernels[head].kernel->take_over(others);
  }
}

}  // namespace regatta
