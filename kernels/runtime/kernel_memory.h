// SPDX-License-Identifier: Apache-2.0
//
// The memory that a node's kernel uses: tensors, variables and, for variables shared by loops, the
// versions that the loop has read. Kernels keep references to it.
// Threads: used only from the thread that builds the executor.
#pragma once

#include <deque>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/lane.h"
#include "kernels/runtime/memory.h"
#include "kernels/runtime/plan.h"

namespace regatta {

struct KernelMemory {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<VariableStorage*> variables;
  std::vector<SeenVersion*> versions_seen;  ///< one for each of `variables`; null if not shared
  Evidence evidence;
};

class KernelMemories {
 public:
  /// The arguments must outlive this object.
  KernelMemories(const Graph& graph, const Plan& plan, Memory& memory)
      : graph_(graph), plan_(plan), memory_(memory) {}

  /// Returns the memory for the kernel of node `id` in loop `loop`. The reference stays valid.
  /// Throws: RunError(Unsupported) if a variable of the node is in another device's memory.
  const KernelMemory& of(NodeId id, int loop);

 private:
  void check_reach(const Node& node) const;
  void add_state(Evidence& evidence, VariableId variable);

  const Graph& graph_;
  const Plan& plan_;
  Memory& memory_;
  std::deque<KernelMemory> memories_;
};

}  // namespace regatta
