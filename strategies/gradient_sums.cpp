// SPDX-License-Identifier: Apache-2.0
#include "strategies/gradient_sums.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "kernels/base/error.h"
#include "strategies/shares.h"

namespace regatta::strategies {
namespace {

/// Returns the first variable from which the value is computed.
VariableId source_of(const Graph& graph, Value value) {
  while (graph.node(value.node).op != Op::Read) value = graph.node(value.node).inputs.at(0);
  return graph.node(value.node).variables[0];
}

}  // namespace

std::vector<GradientSum> gradient_sums(const Step& step, std::string_view strategy) {
  std::map<Value, VariableId> parameters;
  for (const Trainable& each : step.trainables) parameters[each.gradient] = each.variable;
  std::vector<GradientSum> sums;
  for (NodeId id = 0; id < static_cast<NodeId>(step.graph.nodes().size()); ++id) {
    const Node& node = step.graph.node(id);
    if (node.op != Op::AllReduce || is_replaced(node)) continue;
    const auto found = parameters.find({id, 0});
    if (found != parameters.end()) {
      sums.push_back({.node = id, .parameter = found->second});
    } else if (node.attributes.has(kOuterGradient)) {
      sums.push_back({.node = id, .parameter = source_of(step.graph, node.inputs[0])});
    }
  }
  if (sums.empty()) {
    const std::string name(strategy);
    throw RunError(ErrorKind::Usage,
                   "strategy '" + name +
                       "' compresses sums of gradients, and there are none; fix: put it behind a "
                       "strategy that has them, such as all_reduce+" +
                       name);
  }
  const auto group = [&](const GradientSum& sum) {
    return step.graph.node(sum.node).attributes.integer("group");
  };
  std::stable_sort(sums.begin(), sums.end(),
                   [&](const GradientSum& a, const GradientSum& b) { return group(a) < group(b); });
  return sums;
}

Variable slot_of(const Step& step, const GradientSum& sum, const std::string& suffix,
                 const TensorType& type) {
  const Variable& parameter = step.graph.variable(sum.parameter);
  return {.name = parameter.name + suffix,
          .type = type,
          .kind = VariableKind::Slot,
          .place = step.graph.node(sum.node).place};
}

void copy_without(const std::vector<GradientSum>& sums, const Graph& source, Copier& copier,
                  Graph& result, const std::function<void()>& exchange) {
  copier.copy_variables(result);
  std::set<NodeId> replaced;
  for (const GradientSum& sum : sums) replaced.insert(sum.node);
  for (NodeId id = 0; id < static_cast<NodeId>(source.nodes().size()); ++id) {
    if (!replaced.contains(id)) copier.copy(id, result);
    if (id == *replaced.rbegin()) exchange();
  }
}

}  // namespace regatta::strategies
