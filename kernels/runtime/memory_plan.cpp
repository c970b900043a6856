// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/memory_plan.h"

#include <algorithm>
#include <limits>

#include "kernels/graph/collective.h"
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
  return node.op == Op::Input || (node.op == Op::AllGather && !node.attributes.has("frees")) ||
         (node.op == Op::Receive && node.place.role == Role::Worker);
}

/// The last instruction of `lane` that does not know yet that `reader`, of another lane, has run.
int known_end(const Plan& plan, int lane, NodeId reader) {
  const auto& instructions = plan.lanes()[static_cast<std::size_t>(lane)].instructions;
  const auto waits = [&](const Dependency& wait) {
    return wait.lane == plan.lane_of(reader) && wait.index >= plan.index_of(reader);
  };
  const auto found =
      std::find_if(instructions.begin(), instructions.end(), [&](const Instruction& instruction) {
        return std::any_of(instruction.waits.begin(), instruction.waits.end(), waits);
      });
  return found == instructions.end() ? kForever
                                     : static_cast<int>(found - instructions.begin()) - 1;
}

/// Whether a value's memory may be used again when a reader in another lane has run: a gathered
/// bucket's, and what a collective reads.
bool is_followed(const Graph& graph, Value value, const Node& reader) {
  return graph.node(value.node).op == Op::AllGather || reader.op == Op::AllGather ||
         reader.op == Op::ReduceScatter;
}

/// The inputs of which a kernel reads anything: an all_gather only waits for those beyond the
/// pieces of its share.
std::size_t inputs_read(const Node& node) {
  if (node.op != Op::AllGather) return node.inputs.size();
  return pieces(node.outputs, node.attributes.integer("members"), node.attributes.integer("member"))
      .size();
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
    for (std::size_t i = 0; i < inputs_read(node); ++i) {
      const Storage& source = plan.storage(node.inputs[i]);
      if (source.variable >= 0) continue;
      const int lane = plan.lane_of(source.owner.node);
      int end = kForever;
      if (lane == plan.lane_of(id)) end = plan.index_of(id);
      if (lane != plan.lane_of(id) && is_followed(graph, source.owner, node)) {
        end = known_end(plan, lane, id);
      }
      int& death = dead[source.owner];
      death = std::max(death, end);
    }
  }
  return dead;
}

/// What an all_gather makes, one behind the other.
Block gathered(const Graph& graph, const Plan& plan, NodeId id, std::map<Value, int>& dead) {
  const bool kept = is_kept(graph.node(id));
  Block bucket{
      .values = {}, .bytes = 0, .born = kept ? 0 : plan.index_of(id), .dead = 0, .offset = 0};
  for (int i = 0; i < static_cast<int>(graph.node(id).outputs.size()); ++i) {
    bucket.values.push_back({id, i});
    bucket.bytes += graph.type({id, i}).bytes();
    bucket.dead = std::max(bucket.dead, dead.at({id, i}));
    dead.erase({id, i});
  }
  return bucket;
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
  const auto lane_at = [&](NodeId id) { return static_cast<std::size_t>(plan.lane_of(id)); };
  std::map<Value, int> dead = deaths(graph, plan);
  std::map<Value, int> readers = reader_counts(graph);
  std::vector<std::vector<Block>> blocks(plan.lanes().size());
  // Buckets first: their values lie one after the other, without gaps.
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::AllGather) blocks[lane_at(id)].push_back(gathered(graph, plan, id, dead));
    if (node.op != Op::AllReduce && node.op != Op::ReduceScatter) continue;
    Block bucket{.values = {}, .bytes = 0, .born = 0, .dead = kForever, .offset = 0};
    if (node.op == Op::ReduceScatter) {
      bucket.born = kForever;
      bucket.dead = 0;
    }
    for (Value input : node.inputs) {
      const Storage& source = plan.storage(input);
      check(source.variable < 0 && source.offset_bytes == 0 && dead.contains(source.owner),
            "what is reduced owns its memory and is reduced once");
      check(readers[input] == 1 && readers[source.owner] == 1,
            "what is reduced has no other reader");
      bucket.values.push_back(source.owner);
      bucket.bytes += graph.type(source.owner).bytes();
      if (node.op == Op::ReduceScatter) {
        bucket.born = std::min(bucket.born, plan.index_of(source.owner.node));
        bucket.dead = std::max(bucket.dead, dead[source.owner]);
      }
      dead.erase(source.owner);
    }
    blocks[lane_at(bucket.values[0].node)].push_back(bucket);
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

std::map<Place, std::int64_t> planned_bytes(const Graph& graph, const Plan& plan) {
  std::map<Place, std::int64_t> bytes;
  for (const Variable& variable : graph.variables()) bytes[variable.place] += variable.type.bytes();
  const MemoryPlan memory = plan_memory(graph, plan);
  for (std::size_t lane = 0; lane < plan.lanes().size(); ++lane) {
    bytes[plan.lanes()[lane].place] += memory.arena_bytes[lane];
  }
  return bytes;
}

}  // namespace regatta
