// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/gradient.h"

#include <map>

#include "kernels/base/error.h"
#include "kernels/graph/builder.h"

namespace regatta {
namespace {

/// Marks the nodes that depend on one of `with_respect_to`.
std::vector<bool> nodes_that_matter(const Graph& graph, std::span<const Value> with_respect_to) {
  std::vector<bool> matters(graph.nodes().size());
  for (Value value : with_respect_to) matters[static_cast<std::size_t>(value.node)] = true;
  for (std::size_t id = 0; id < matters.size(); ++id) {
    for (Value input : graph.nodes()[id].inputs) {
      if (matters[static_cast<std::size_t>(input.node)]) matters[id] = true;
    }
  }
  return matters;
}

/// The gradients known so far; those of several uses of a value are added up.
class Gradients {
 public:
  void accumulate(Builder& builder, Value value, Value gradient) {
    auto [entry, is_new] = known_.try_emplace(value, gradient);
    if (!is_new) entry->second = builder.add(entry->second, gradient);
  }
  Value of(Value value) const {
    const auto found = known_.find(value);
    return found == known_.end() ? Value{} : found->second;
  }

 private:
  std::map<Value, Value> known_;
};

}  // namespace

std::vector<Value> gradient(Graph& graph, Value loss, std::span<const Value> with_respect_to) {
  const std::vector<bool> matters = nodes_that_matter(graph, with_respect_to);
  Builder builder(graph);
  builder.in(Phase::Backward);
  Gradients gradients;

  for (NodeId id = loss.node; id >= 0; --id) {
    if (!matters[static_cast<std::size_t>(id)]) continue;
    const Node node = graph.node(id);  // a copy: the graph grows below
    std::vector<Value> outputs;
    bool reached = id == loss.node;
    for (int output = 0; output < static_cast<int>(node.outputs.size()); ++output) {
      outputs.push_back(gradients.of({id, output}));
      reached = reached || outputs.back().exists();
    }
    if (!reached || node.op == Op::Read) continue;
    const GradientRule rule = op_info(node.op).gradient;
    check(rule != nullptr, "a gradient has to flow through an op that has no gradient rule");
    std::vector<bool> wanted;
    for (Value input : node.inputs) wanted.push_back(matters[static_cast<std::size_t>(input.node)]);
    builder.at(node.place).layer(node.layer).want(wanted);
    const std::vector<Value> inputs = rule(builder, {id, 0}, node, outputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].exists() && wanted[i]) {
        gradients.accumulate(builder, node.inputs[i], inputs[i]);
      }
    }
  }

  std::vector<Value> results;
  for (Value value : with_respect_to) {
    results.push_back(gradients.of(value));
    check(results.back().exists(), "the loss does not depend on a value it is differentiated for");
  }
  return results;
}

}  // namespace regatta
