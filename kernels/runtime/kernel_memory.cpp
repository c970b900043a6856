// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/kernel_memory.h"

#include "kernels/base/error.h"

namespace regatta {

const KernelMemory& KernelMemories::of(NodeId id, int loop) {
  const Node& node = graph_.node(id);
  check_reach(node);
  KernelMemory& kernel = memories_.emplace_back();
  for (Value input : node.inputs) {
    kernel.inputs.push_back(memory_.tensor(input));
    const VariableId source = plan_.storage(input).variable;
    if (source >= 0) add_state(kernel.evidence, source);  // not shared: kernels read shared ones
  }
  for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) {
    kernel.outputs.push_back(memory_.tensor({id, i}));
  }
  for (VariableId v : node.variables) {
    kernel.variables.push_back(&memory_.variable(v));
    const bool shared = graph_.variable(v).sharing != Sharing::None;
    kernel.versions_seen.push_back(shared ? memory_.seen(loop, v) : nullptr);
    if (!shared) add_state(kernel.evidence, v);
  }
  kernel.evidence.outputs = kernel.outputs;
  return kernel;
}

/// Checks that only copies read another device's memory.
void KernelMemories::check_reach(const Node& node) const {
  const Device& own = memory_.device_of(node.place);
  for (const Value& input : node.inputs) {
    check(node.op == Op::Copy || &memory_.device_of(input) == &own,
          "values come from another device by copies");
  }
  for (const VariableId v : node.variables) {
    if (&memory_.device_of(v) == &own) continue;
    throw RunError(ErrorKind::Unsupported,
                   "variable " + graph_.variable(v).name + " of " +
                       to_string(graph_.variable(v).place) + " is used by " +
                       to_string(node.place) +
                       ", which is on another device: places that share variables have to be on "
                       "one");
  }
}

void KernelMemories::add_state(Evidence& evidence, VariableId variable) {
  evidence.state.emplace_back(graph_.variable(variable).name, memory_.variable(variable).tensor);
}

}  // namespace regatta
