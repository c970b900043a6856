// SPDX-License-Identifier: Apache-2.0
#include "kernels/rewrite/bucket.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/period.h"

namespace regatta {
namespace {

/// A collective of the source, with the nodes of its members in member order.
struct Collective {
  std::vector<NodeId> members;
  std::vector<Place> places;
  Alike alike;
  std::string algorithm;
  ElementType element = ElementType::F32;
  Period period;
  std::int64_t round = 0;
  std::string unit;
  std::int64_t bytes = 0;

  /// Equal for collectives that may share a bucket.
  auto kind() const {
    return std::tie(places, alike.replicas, alike.shards, algorithm, element, period, round, unit);
  }
};

std::vector<Collective> collectives(const Graph& graph) {
  std::map<std::int64_t, Collective> by_group;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (node.op != Op::AllReduce) continue;
    Collective& collective = by_group[node.attributes.integer("group")];
    collective.members.push_back(id);
    collective.places.push_back(node.place);
    collective.alike = alike_members(node);
    collective.algorithm = node.attributes.text("algorithm");
    collective.element = node.outputs[0].element;
    collective.period = period_of(node);
    if (node.attributes.has("round")) collective.round = node.attributes.integer("round");
    if (node.attributes.has("unit")) collective.unit = node.attributes.text("unit");
    if (node.member != 0) continue;
    for (const TensorType& type : node.outputs) collective.bytes += type.bytes();
  }
  std::vector<Collective> all;
  for (auto& [group, collective] : by_group) all.push_back(std::move(collective));
  return all;
}

/// Returns for each node the first that reads one of its outputs.
std::vector<NodeId> first_readers(const Graph& graph) {
  std::vector<NodeId> first(graph.nodes().size(), std::numeric_limits<NodeId>::max());
  for (NodeId id = static_cast<NodeId>(first.size()) - 1; id >= 0; --id) {
    for (Value input : graph.node(id).inputs) first[static_cast<std::size_t>(input.node)] = id;
  }
  return first;
}

/// Returns for each bucket the indices into `all` of its collectives. Collectives of different
/// members (those of different stages, for example) fill separate buckets. A bucket is full where a
/// node reads it.
std::vector<std::vector<std::size_t>> fill(const Graph& graph, const std::vector<Collective>& all,
                                           std::int64_t bucket_bytes) {
  const std::vector<NodeId> readers = first_readers(graph);
  const auto is_read_before = [&](const Collective& one, const Collective& later) {
    for (std::size_t m = 0; m < one.members.size(); ++m) {
      if (readers[static_cast<std::size_t>(one.members[m])] < later.members[m]) return true;
    }
    return false;
  };
  std::vector<std::vector<std::size_t>> buckets;
  std::vector<std::int64_t> sizes;
  std::map<decltype(all.front().kind()), std::vector<std::size_t>> of_kind;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t open = buckets.size();
    std::vector<std::size_t>& like_it = of_kind[all[i].kind()];
    for (const std::size_t b : like_it) {
      const auto& parts = buckets[b];
      const bool joins = sizes[b] < bucket_bytes &&
                         std::none_of(parts.begin(), parts.end(), [&](std::size_t part) {
                           return is_read_before(all[part], all[i]);
                         });
      if (joins) open = b;
    }
    if (open == buckets.size()) {
      like_it.push_back(open);
      buckets.emplace_back();
      sizes.push_back(0);
    }
    buckets[open].push_back(i);
    sizes[open] += all[i].bytes;
  }
  return buckets;
}

/// A member's node of a bucket, at the position of the last of its merged nodes.
struct MergedNode {
  std::vector<NodeId> parts;
  std::int64_t group = 0;
};

}  // namespace

Step bucket(const Step& step, std::int64_t bucket_bytes) {
  const std::vector<Collective> all = collectives(step.graph);
  if (all.empty()) return step;
  std::map<NodeId, MergedNode> merged;  // by the last part
  std::vector<bool> is_part(step.graph.nodes().size());
  std::set<std::int64_t> others;  // groups of collectives that stay as they are
  for (const Node& node : step.graph.nodes()) {
    if (is_collective(node.op) && node.op != Op::AllReduce) {
      others.insert(node.attributes.integer("group"));
    }
  }
  std::int64_t group = 0;
  for (const auto& members : fill(step.graph, all, bucket_bytes)) {
    while (others.contains(group)) ++group;
    for (std::size_t m = 0; m < all[members.front()].members.size(); ++m) {
      MergedNode node{.parts = {}, .group = group};
      for (std::size_t index : members) node.parts.push_back(all[index].members[m]);
      for (NodeId part : node.parts) is_part[static_cast<std::size_t>(part)] = true;
      merged[node.parts.back()] = node;
    }
    ++group;
  }

  Step result = step;
  result.graph = Graph();
  Copier copier(step.graph);
  copier.copy_variables(result.graph);
  const auto count = static_cast<std::size_t>(std::count(is_part.begin(), is_part.end(), true));
  result.graph.reserve_nodes(is_part.size() - count + merged.size());
  for (NodeId id = 0; id < static_cast<NodeId>(step.graph.nodes().size()); ++id) {
    const auto found = merged.find(id);
    if (found == merged.end()) {
      if (!is_part[static_cast<std::size_t>(id)]) copier.copy(id, result.graph);
      continue;
    }
    const std::vector<NodeId>& parts = found->second.parts;
    Node node = copier.translate(parts.front());
    node.attributes.set("group", found->second.group);
    node.attributes.erase("unit");
    node.inputs.clear();
    for (NodeId part : parts) node.inputs.push_back(copier.value(step.graph.node(part).inputs[0]));
    const NodeId copied = result.graph.add(node);
    for (int i = 0; i < static_cast<int>(parts.size()); ++i) {
      copier.map({parts[static_cast<std::size_t>(i)], 0}, {copied, i});
    }
  }
  copier.rename(result);
  return result;
}

}  // namespace regatta
