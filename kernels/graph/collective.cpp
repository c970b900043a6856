// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/collective.h"

#include <algorithm>
#include <array>
#include <map>

#include "kernels/base/error.h"
#include "kernels/graph/collective_messages.h"

namespace regatta {
namespace {

constexpr std::array kAlgorithms = {kRing, kReduceToOne, kHierarchicalCopy, kDoubleTree, kTorus};

MemberTraffic ring_traffic(const CollectiveShape& shape, std::int64_t member) {
  const std::int64_t n = shape.members;
  const auto bytes = [&](std::int64_t index) {
    return share(shape.elements, n, (index + 2 * n) % n).size() * shape.element_bytes;
  };
  MemberTraffic traffic;
  const Range steps = ring_steps(shape.op, n);
  for (std::int64_t step = steps.begin; step < steps.end; ++step) {
    traffic += {.sent = bytes(member - step), .received = bytes(member - 1 - step), .messages = 1};
  }
  return traffic;
}

MemberTraffic to_one_traffic(const CollectiveShape& shape, std::int64_t member) {
  const std::int64_t all = shape.elements * shape.element_bytes;
  const std::int64_t partners = member == 0 ? shape.members - 1 : 1;
  return {.sent = partners * all, .received = partners * all, .messages = partners};
}

MemberTraffic hierarchical_traffic(const CollectiveShape& shape, std::int64_t member) {
  const std::int64_t all = shape.elements * shape.element_bytes;
  const Halves split = halves(shape.members, shape.group);
  std::int64_t partners = 1;
  if (member == split.first_root) partners = split.first_size;  // its half and the other root
  if (member == split.second_root) partners = shape.members - split.first_size;
  return {.sent = partners * all, .received = partners * all, .messages = partners};
}

MemberTraffic by_parts_traffic(const CollectiveShape& shape, std::int64_t member) {
  const std::int64_t all = shape.elements * shape.element_bytes;
  const std::vector<Part> dealt = parts(shape.part_of, shape.group);
  const auto own = std::find_if(dealt.begin(), dealt.end(),
                                [member](const Part& part) { return part.root == member; });
  if (own == dealt.end()) return {.sent = all, .received = all, .messages = 1};
  CollectiveShape roots = shape;
  roots.members = static_cast<std::int64_t>(dealt.size());
  MemberTraffic traffic =
      roots.members == 1 ? MemberTraffic{} : ring_traffic(roots, own - dealt.begin());
  const auto others = static_cast<std::int64_t>(own->members.size()) - 1;
  traffic += {.sent = others * all, .received = others * all, .messages = others};
  return traffic;
}

MemberTraffic traffic_of_messages(const CollectiveShape& shape, std::int64_t member) {
  MemberTraffic traffic;
  for (const CollectiveMessage& message : messages_of(shape)) {
    const std::int64_t bytes = message.elements.size() * shape.element_bytes;
    if (message.from == member) traffic.sent += bytes;
    if (message.to != member) continue;
    traffic.received += bytes;
    ++traffic.messages;
  }
  return traffic;
}

/// `root` first, then the other members of [first, first + count).
std::vector<std::int64_t> behind(std::int64_t root, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> members;
  if (count > 0) members.push_back(root);
  for (std::int64_t member = first; member < first + count; ++member) {
    if (member != root) members.push_back(member);
  }
  return members;
}

std::vector<AdditionOrder> ring_orders(const CollectiveShape& shape) {
  std::vector<AdditionOrder> orders;
  for (std::int64_t index = 0; index < shape.members; ++index) {
    AdditionOrder order{.elements = share(shape.elements, shape.members, index)};
    if (order.elements.size() == 0) continue;
    for (std::int64_t step = 0; step < shape.members; ++step) {
      order.first.push_back((index + step) % shape.members);
    }
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace

std::span<const std::string_view> all_reduce_algorithms() { return kAlgorithms; }

Range share(std::int64_t count, std::int64_t parts, std::int64_t index) {
  const std::int64_t base = count / parts;
  const std::int64_t larger = count % parts;  // the first shares have one element more
  const std::int64_t begin = index * base + std::min(index, larger);
  return {begin, begin + base + (index < larger ? 1 : 0)};
}

std::vector<Piece> pieces(std::span<const TensorType> bucket, std::int64_t members,
                          std::int64_t member) {
  std::int64_t elements = 0;
  for (const TensorType& type : bucket) elements += type.elements();
  const Range own = share(elements, members, share_at(member, members));
  std::vector<Piece> all;
  std::int64_t first = 0;  // first element of the tensor, in the bucket
  for (std::size_t i = 0; i < bucket.size(); ++i) {
    const Range within{std::max(own.begin - first, std::int64_t{0}),
                       std::min(own.end - first, bucket[i].elements())};
    if (within.begin < within.end) all.push_back({.tensor = i, .elements = within});
    first += bucket[i].elements();
  }
  return all;
}

std::size_t inputs_read(const Node& node) {
  if (node.op != Op::AllGather) return node.inputs.size();
  return pieces(node.outputs, node.attributes.integer("members"), node.member).size();
}

TensorType type_of(const Piece& piece, std::span<const TensorType> bucket) {
  const TensorType& whole = bucket[piece.tensor];
  if (piece.elements.size() == whole.elements()) return whole;
  return {whole.element, {piece.elements.size()}};
}

std::vector<TensorType> bucket_of(const Graph& graph, const Node& node) {
  if (node.op != Op::ReduceScatter) return node.outputs;
  std::vector<TensorType> bucket;
  for (Value input : node.inputs) bucket.push_back(graph.type(input));
  return bucket;
}

CollectiveShape collective_shape(const Graph& graph, const Node& node) {
  CollectiveShape shape{.op = node.op,
                        .algorithm = node.attributes.text("algorithm"),
                        .members = node.attributes.integer("members"),
                        .group = node.attributes.integer("group")};
  const std::vector<TensorType> bucket = bucket_of(graph, node);
  for (const TensorType& type : bucket) shape.elements += type.elements();
  shape.element_bytes = size_of(bucket.front().element);
  if (node.attributes.has("processes")) shape.part_of = node.attributes.integers("processes");
  return shape;
}

Alike alike_members(const Node& node) {
  return {.replicas = node.attributes.integer("of_replicas", 1),
          .shards = node.attributes.integer("of_shards", 1)};
}

void set_alike_members(Attributes& attributes, const Alike& alike) {
  if (alike.replicas > 1) attributes.set("of_replicas", alike.replicas);
  if (alike.shards > 1) attributes.set("of_shards", alike.shards);
}

std::vector<std::int64_t> members_of(const Node& node) {
  const Alike alike = alike_members(node);
  const std::int64_t of_replica = node.attributes.integer("members") / alike.replicas;
  std::vector<std::int64_t> all;
  for (std::int64_t r = 0; r < alike.replicas; ++r) {
    for (std::int64_t s = 0; s < alike.shards; ++s) all.push_back(r * of_replica + node.member + s);
  }
  return all;
}

std::map<std::int64_t, std::vector<Place>> places_of_groups(const Graph& graph) {
  std::map<std::int64_t, std::vector<Place>> all;
  for (const Node& node : graph.nodes()) {
    if (!is_collective(node.op)) continue;
    std::vector<Place>& places = all[node.attributes.integer("group")];
    places.resize(static_cast<std::size_t>(node.attributes.integer("members")));
    const std::int64_t shards = alike_members(node).shards;
    const std::vector<std::int64_t> members = members_of(node);
    for (std::int64_t i = 0; i < std::ssize(members); ++i) {
      Place& place = places.at(static_cast<std::size_t>(members[static_cast<std::size_t>(i)]));
      place = node.place;
      place.replica += static_cast<int>(i / shards);
      place.shard += static_cast<int>(i % shards);
    }
  }
  return all;
}

std::string differences_between(std::span<const Place> members) {
  std::string text;
  const auto add = [&](int Place::*coordinate, const char* name) {
    for (const Place& each : members) {
      if (each.*coordinate == members.front().*coordinate) continue;
      text += (text.empty() ? "" : " and ") + std::string(name);
      return;
    }
  };
  add(&Place::replica, "replicas");
  add(&Place::stage, "stages");
  add(&Place::shard, "shards");
  return text;
}

std::int64_t first_free_group(const Graph& graph) {
  std::int64_t free = 0;
  for (const Node& node : graph.nodes()) {
    if (is_collective(node.op)) free = std::max(free, node.attributes.integer("group") + 1);
  }
  return free;
}

Halves halves(std::int64_t members, std::int64_t group) {
  const std::int64_t first = (members + 1) / 2;
  const std::int64_t second = members - first;
  return {.first_size = first,
          .first_root = group % first,
          .second_root = second == 0 ? -1 : first + group % second};
}

std::vector<Part> parts(std::span<const std::int64_t> part_of, std::int64_t group) {
  std::vector<Part> dealt;
  std::map<std::int64_t, std::size_t> numbers;
  for (std::size_t m = 0; m < part_of.size(); ++m) {
    const auto [entry, is_new] = numbers.try_emplace(part_of[m], dealt.size());
    if (is_new) dealt.emplace_back();
    dealt[entry->second].members.push_back(static_cast<std::int64_t>(m));
  }
  for (Part& part : dealt) {
    part.root = part.members[static_cast<std::size_t>(group) % part.members.size()];
  }
  return dealt;
}

std::vector<AdditionOrder> addition_orders(const CollectiveShape& shape) {
  if (shape.algorithm == kRing) return ring_orders(shape);
  AdditionOrder order{.elements = {0, shape.elements}};
  if (shape.algorithm == kReduceToOne) {
    order.first = behind(0, 0, shape.members);
  } else {
    check(shape.algorithm == kHierarchicalCopy, "an all_reduce algorithm whose order is known");
    const Halves split = halves(shape.members, shape.group);
    order.first = behind(split.first_root, 0, split.first_size);
    order.second = behind(split.second_root, split.first_size, shape.members - split.first_size);
  }
  return {order};
}

bool has_addition_orders(std::string_view algorithm) {
  return algorithm == kRing || algorithm == kReduceToOne || algorithm == kHierarchicalCopy;
}

MemberTraffic member_traffic(const CollectiveShape& shape, std::int64_t member) {
  if (shape.members == 1) return {};
  if (shape.algorithm == kRing || shape.algorithm == kNccl) return ring_traffic(shape, member);
  if (shape.algorithm == kReduceToOne) return to_one_traffic(shape, member);
  if (is_by_messages(shape.algorithm)) return traffic_of_messages(shape, member);
  const bool by_parts = !shape.part_of.empty();
  check(shape.algorithm == kHierarchicalCopy || (shape.algorithm == kMpi && by_parts),
        "an all_reduce algorithm that has a formula");
  if (by_parts) return by_parts_traffic(shape, member);
  return hierarchical_traffic(shape, member);
}

}  // namespace regatta
