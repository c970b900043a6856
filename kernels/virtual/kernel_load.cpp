// SPDX-License-Identifier: Apache-2.0
#include "kernels/virtual/kernel_load.h"

#include "kernels/distribute/traffic.h"
#include "kernels/runtime/lane.h"

namespace regatta::virtual_time {

KernelLoad load_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  KernelLoad load;
  load.flop = 2 * static_cast<double>(multiply_adds(graph, id));
  if (load.flop > 0) load.element = graph.type(node.inputs[0]).element;
  std::int64_t bytes = 0;
  for (const TensorType& type : node.outputs) bytes += type.bytes();
  if (node.op == Op::Embed) {
    bytes *= 2;
  } else {
    for (const Value input : node.inputs) bytes += graph.type(input).bytes();
  }
  const std::int64_t moves = category_of(graph, node) == Category::Update ? 2 : 1;
  for (const VariableId v : node.variables) bytes += moves * graph.variable(v).type.bytes();
  load.bytes = static_cast<double>(bytes);
  return load;
}

}  // namespace regatta::virtual_time
