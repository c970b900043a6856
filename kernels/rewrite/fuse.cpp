// SPDX-License-Identifier: Apache-2.0
#include "kernels/rewrite/fuse.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "kernels/graph/copier.h"
#include "kernels/rewrite/fusion_patterns.h"

namespace regatta {
namespace {

/// Copies a step with fused blocks in place of their members. The forward node replaces its last
/// member, because a residual may come late; the backward node replaces its first member, when all
/// its inputs exist.
class Fuser {
 public:
  explicit Fuser(const Step& step)
      : source_(step.graph), result_(step), copier_(step.graph), blocks_(find_blocks(step)) {
    result_.graph = Graph();
    copier_.copy_variables(result_.graph);
    for (const FusedBlock& block : blocks_) place(block);
  }

  Step run() {
    for (NodeId id = 0; id < static_cast<NodeId>(source_.nodes().size()); ++id) {
      if (const auto found = forward_.find(id); found != forward_.end()) add_block(found->second);
      if (const auto found = backward_.find(id); found != backward_.end()) {
        add(*found->second->backward, picked_.at(found->second));
      }
      if (!members_.contains(id)) copier_.copy(id, result_.graph);
    }
    copier_.rename(result_);
    return std::move(result_);
  }

 private:
  void place(const FusedBlock& block) {
    const std::vector<NodeId>& forward = block.forward.members;
    forward_[*std::max_element(forward.begin(), forward.end())] = &block;
    members_.insert(forward.begin(), forward.end());
    if (!block.backward) return;
    const std::vector<NodeId>& backward = block.backward->members;
    backward_[*std::min_element(backward.begin(), backward.end())] = &block;
    members_.insert(backward.begin(), backward.end());
  }

  void add_block(const FusedBlock* block) {
    const NodeId node = add(block->forward, {});
    picked_[block] = {node, 3};
  }

  NodeId add(const FusedNode& fused, Value picked) {
    Node node = fused.node;
    for (Value& input : node.inputs) input = input.exists() ? copier_.value(input) : picked;
    for (VariableId& variable : node.variables) variable = copier_.variable(variable);
    const NodeId added = result_.graph.add(std::move(node));
    for (const auto& [source, output] : fused.outputs) copier_.map(source, {added, output});
    return added;
  }

  const Graph& source_;
  Step result_;
  Copier copier_;
  const std::vector<FusedBlock> blocks_;
  std::set<NodeId> members_;
  std::map<NodeId, const FusedBlock*> forward_;   ///< by the position in the source's order
  std::map<NodeId, const FusedBlock*> backward_;  ///< by the position in the source's order
  std::map<const FusedBlock*, Value> picked_;
};

}  // namespace

Step fuse(const Step& step) { return Fuser(step).run(); }

}  // namespace regatta
