// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/memory_plan.h"

#include <algorithm>
#include <limits>

#include "kernels/graph/error.h"

namespace regatta {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr int kForever = std::numeric_limits<int>::max();

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Values that lie together and live from instruction `born` to `dead` of a lane, both included.
struct Block {
  std::vector<Value> values;
  std::int64_t bytes = 0;
  int born = 0;
  int dead = 0;
  std::int64_t offset = 0;
};

/// How many nodes read each value. Views count as readers of what they are views of.
std::map<Value, int> reader_counts(const Graph& graph) {
  std::map<Value, int> counts;
  for (const Node& node : graph.nodes()) {
    for (Value input : node.inputs) ++counts[input];
  }
  return counts;
}

/// Nothing else may ever lie in its memory. Inputs may have been filled once, before the first
/// step. What a worker has received is evidence when its loss is not finite (lane_diagnosis.cpp
/// runs the forward pass again), and does not come a second time.
bool is_kept(const Node& node) {
  return node.op == Op::Input || (node.op == Op::Receive && node.place.role == Role::Worker);
}

/// The instruction of the owner's lane after which a value's memory is free.
std::map<Value, int> deaths(const Graph& graph, const Plan& plan) {
  std::map<Value, int> dead;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (plan.lane_of(id) < 0) continue;
    for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) {
      const Value owner = plan.storage({id, i}).owner;
      if (owner.node == id) dead[owner] = is_kept(node) ? kForever : plan.index_of(id);
    }
    for (Value input : node.inputs) {
      const Storage& source = plan.storage(input);
      if (source.variable >= 0) continue;
      const bool same_lane = plan.lane_of(source.owner.node) == plan.lane_of(id);
      int& death = dead[source.owner];
      death = std::max(death, same_lane ? plan.index_of(id) : kForever);
    }
  }
  return dead;
}

/// Greedy by size: each block goes to the lowest offset where no block that lives with it lies.
std::int64_t assign_offsets(std::vector<Block>& blocks) {
  std::vector<Block*> order;
  for (Block& block : blocks) order.push_back(&block);
  std::stable_sort(order.begin(), order.end(),
                   [](const Block* a, const Block* b) { return a->bytes > b->bytes; });
  std::vector<Block*> placed;  // by offset
  std::int64_t arena = 0;
  for (Block* block : order) {
    std::int64_t offset = 0;
    for (const Block* other : placed) {
      if (other->dead < block->born || block->dead < other->born) continue;
      if (offset + block->bytes <= other->offset) break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    block->offset = offset;
    arena = std::max(arena, offset + block->bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), block,
                         [](const Block* a, const Block* b) { return a->offset < b->offset; }),
        block);
  }
  return arena;
}

}  // namespace

MemoryPlan plan_memory(const Graph& graph, const Plan& plan) {
  std::map<Value, int> dead = deaths(graph, plan);
  std::map<Value, int> readers = reader_counts(graph);
  std::vector<std::vector<Block>> blocks(plan.lanes().size());
  // Buckets first: their values lie one after the other, without gaps.
  for (const Node& node : graph.nodes()) {
    if (node.op != Op::AllReduce) continue;
    Block bucket{.values = {}, .bytes = 0, .born = 0, .dead = kForever, .offset = 0};
    for (Value input : node.inputs) {
      const Storage& source = plan.storage(input);
      check(source.variable < 0 && source.offset_bytes == 0 && dead.contains(source.owner),
            "what is reduced owns its memory and is reduced once");
      check(readers[input] == 1 && readers[source.owner] == 1,
            "what is reduced has no other reader");
      bucket.values.push_back(source.owner);
      bucket.bytes += graph.type(source.owner).bytes();
      dead.erase(source.owner);
    }
    blocks[static_cast<std::size_t>(plan.lane_of(bucket.values[0].node))].push_back(bucket);
  }
  for (const auto& [value, death] : dead) {
    const bool forever = is_kept(graph.node(value.node));
    blocks[static_cast<std::size_t>(plan.lane_of(value.node))].push_back(
        {.values = {value},
         .bytes = aligned(graph.type(value).bytes()),
         .born = forever ? 0 : plan.index_of(value.node),
         .dead = death,
         .offset = 0});
  }

  MemoryPlan memory;
  for (std::size_t lane = 0; lane < blocks.size(); ++lane) {
    for (Block& block : blocks[lane]) {
      block.bytes = aligned(block.bytes);
      memory.sum_of_values += block.bytes;
    }
    memory.arena_bytes.push_back(assign_offsets(blocks[lane]));
    for (const Block& block : blocks[lane]) {
      std::int64_t offset = block.offset;
      for (Value value : block.values) {
        memory.addresses[value] = {.lane = static_cast<int>(lane), .offset = offset};
        offset += graph.type(value).bytes();
      }
    }
  }
  return memory;
}

}  // namespace regatta
