// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/open_sums.h"

#include <cstdint>
#include <map>
#include <utility>

#include "kernels/graph/copier.h"
#include "kernels/graph/error.h"

namespace regatta {
namespace {

bool is_open(const Node& node) {
  return node.op == Op::AllReduce && node.attributes.text("algorithm") == kAuto;
}

}  // namespace

std::vector<OpenSum> open_sums(const Graph& graph) {
  std::map<std::int64_t, OpenSum> by_group;
  for (const Node& node : graph.nodes()) {
    if (!is_open(node)) continue;
    OpenSum& sum = by_group[node.attributes.integer("group")];
    if (sum.places.empty()) sum.shape = collective_shape(graph, node);
    sum.places.resize(static_cast<std::size_t>(sum.shape.members));
    sum.places.at(static_cast<std::size_t>(node.member)) = node.place;
  }
  std::vector<OpenSum> all;
  for (auto& [group, sum] : by_group) all.push_back(std::move(sum));
  return all;
}

Step with_algorithms(const Step& step, std::span<const std::string> picked) {
  const std::vector<OpenSum> sums = open_sums(step.graph);
  if (sums.size() != picked.size()) {
    throw RunError(ErrorKind::Usage, "algorithms are picked for " + std::to_string(picked.size()) +
                                         " sums, and the step has " + std::to_string(sums.size()) +
                                         " that are open");
  }
  std::map<std::int64_t, std::string> by_group;
  for (std::size_t i = 0; i < sums.size(); ++i) by_group[sums[i].shape.group] = picked[i];
  Step result = step;
  result.graph = Graph();
  Copier copier(step.graph);
  copier.copy_variables(result.graph);
  for (NodeId id = 0; id < static_cast<NodeId>(step.graph.nodes().size()); ++id) {
    const Node& source = step.graph.node(id);
    if (!is_open(source)) {
      copier.copy(id, result.graph);
      continue;
    }
    Node node = copier.translate(id);
    const std::string& algorithm = by_group.at(source.attributes.integer("group"));
    node.attributes.set("algorithm", algorithm);
    if (algorithm != kTorus) node.attributes.erase("columns");
    copier.map_outputs(id, result.graph.add(std::move(node)));
  }
  copier.rename(result);
  return result;
}

}  // namespace regatta
