// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/memory_plan.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <tuple>

#include "kernels/base/error.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/guard/loss_evidence.h"

namespace regatta {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr int kForever = std::numeric_limits<int>::max();

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Values stored together that live from instruction `born` to `dead` of a lane, both included.
struct Block {
  std::vector<Value> values;
  std::int64_t bytes = 0;
  int born = 0;
  int dead = 0;
  std::int64_t offset = 0;
};

/// The number of nodes that read each value. Views count as readers of the values they view.
std::map<Value, int> reader_counts(const Graph& graph) {
  std::map<Value, int> counts;
  for (const Node& node : graph.nodes()) {
    for (Value input : node.inputs) ++counts[input];
  }
  return counts;
}

/// The nodes that an instruction knows to have run, from waits of its lane and of awaited lanes.
class Knowledge {
 public:
  explicit Knowledge(const Plan& plan) : plan_(plan), waits_(plan.lanes().size()) {
    for (std::size_t lane = 0; lane < plan.lanes().size(); ++lane) {
      const auto& instructions = plan.lanes()[lane].instructions;
      for (std::size_t i = 0; i < instructions.size(); ++i) {
        for (const Dependency& wait : instructions[i].waits) {
          waits_[static_cast<std::size_t>(wait.lane)][lane].emplace_back(wait.index,
                                                                         static_cast<int>(i));
        }
      }
    }
    for (auto& of_lane : waits_) {
      for (auto& [lane, waits] : of_lane) {
        std::sort(waits.begin(), waits.end());  // then: the first that waits for it or later
        for (std::size_t i = waits.size() - 1; i > 0; --i) {
          waits[i - 1].second = std::min(waits[i - 1].second, waits[i].second);
        }
      }
    }
  }

  /// The last instruction of `lane` that does not know yet that `reader`, of another lane, has run.
  int end_of_ignorance(int lane, NodeId reader) {
    const auto [entry, is_new] = knowing_.try_emplace(reader);
    if (is_new) entry->second = all_knowing(reader);
    const int first = entry->second[static_cast<std::size_t>(lane)];
    return first == kForever ? kForever : first - 1;
  }

 private:
  /// Returns the first instruction of each lane after which the node is known to have run.
  std::vector<int> all_knowing(NodeId id) const {
    std::vector<int> first(waits_.size(), kForever);
    std::vector<std::size_t> told{static_cast<std::size_t>(plan_.lane_of(id))};
    first[told.front()] = plan_.index_of(id);
    while (!told.empty()) {
      const std::size_t lane = told.back();
      told.pop_back();
      for (const auto& [waiting, waits] : waits_[lane]) {
        const auto wait = std::lower_bound(waits.begin(), waits.end(), std::pair(first[lane], 0));
        if (wait == waits.end() || wait->second >= first[waiting]) continue;
        first[waiting] = wait->second;
        told.push_back(waiting);
      }
    }
    return first;
  }

  const Plan& plan_;
  /// [lane that is awaited]: by the lane that waits, the instructions of both, in order.
  std::vector<std::map<std::size_t, std::vector<std::pair<int, int>>>> waits_;
  std::map<NodeId, std::vector<int>> knowing_;
};

/// Lifetimes of the values that own memory.
struct Lives {
  std::map<Value, int> dead;  ///< the last instruction of the lane before the memory is free
  std::set<Value> kept;       ///< their memory is never shared
};

/// Values whose memory is never shared. Inputs may have been filled once, before the first step. A
/// diagnosis recomputes values in place, so those that came to the same lane must be intact.
std::set<Value> kept_values(const Graph& graph, const Plan& plan) {
  std::set<Value> kept;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (node.op != Op::Input && (node.op != Op::AllGather || node.attributes.has("frees")))
      continue;
    for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) kept.insert({id, i});
  }
  for (const Value loss : plan.looked_at()) {
    for (const Value value : evidence_of(graph, plan, loss)) {
      if (plan.lane_of(value.node) == plan.lane_of(loss.node)) kept.insert(value);
    }
  }
  return kept;
}

Lives lives_of(const Graph& graph, const Plan& plan) {
  Lives lives{.dead = {}, .kept = kept_values(graph, plan)};
  Knowledge knowledge(plan);
  const auto read = [&](Value value, NodeId reader) {
    const int lane = plan.lane_of(value.node);
    int& death = lives.dead[value];
    death =
        std::max(death, lane == plan.lane_of(reader) ? plan.index_of(reader)
                                                     : knowledge.end_of_ignorance(lane, reader));
  };
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (plan.lane_of(id) < 0) continue;
    for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) {
      const Value owner = plan.storage({id, i}).owner;
      if (owner.node != id) continue;
      lives.dead[owner] = lives.kept.contains(owner) ? kForever : plan.index_of(id);
    }
    for (std::size_t i = 0; i < inputs_read(node); ++i) {
      const Storage& source = plan.storage(node.inputs[i]);
      if (source.variable < 0) read(source.owner, id);
    }
  }
  for (const Value loss : plan.looked_at()) {
    for (const Value value : evidence_of(graph, plan, loss)) read(value, loss.node);
  }
  return lives;
}

/// The bucket of an all_gather's outputs, which are contiguous.
Block gathered(const Graph& graph, const Plan& plan, NodeId id, Lives& lives) {
  const bool kept = lives.kept.contains({id, 0});
  Block bucket{
      .values = {}, .bytes = 0, .born = kept ? 0 : plan.index_of(id), .dead = 0, .offset = 0};
  for (int i = 0; i < static_cast<int>(graph.node(id).outputs.size()); ++i) {
    bucket.values.push_back({id, i});
    bucket.bytes += graph.type({id, i}).bytes();
    bucket.dead = std::max(bucket.dead, lives.dead.at({id, i}));
    lives.dead.erase({id, i});
  }
  return bucket;
}

/// Blocks with an offset, found by the instructions at which they are alive.
class PlacedBlocks {
 public:
  void add(const Block* block) {
    const std::size_t last = span_of(block->dead);
    if (spans_.size() <= last) spans_.resize(last + 1);
    for (std::size_t i = span_of(block->born); i <= last; ++i) spans_[i].push_back(block);
  }

  /// Returns the blocks that are alive together with the block, sorted by their offsets.
  std::set<std::pair<std::int64_t, const Block*>> beside(const Block& block) const {
    std::set<std::pair<std::int64_t, const Block*>> found;
    const std::size_t end = std::min(span_of(block.dead) + 1, spans_.size());
    for (std::size_t span = span_of(block.born); span < end; ++span) {
      for (const Block* other : spans_[span]) {
        const bool meet = other->dead >= block.born && block.dead >= other->born;
        if (meet) found.insert({other->offset, other});
      }
    }
    return found;
  }

 private:
  static std::size_t span_of(int instruction) {
    return static_cast<std::size_t>(instruction / 256);
  }
  std::vector<std::vector<const Block*>> spans_;
};

/// Assigns offsets, largest block first: the lowest that overlaps no block alive at the same time.
/// `instructions` of the lane: a block that lives on is freed behind them.
std::int64_t assign_offsets(std::vector<Block>& blocks, int instructions) {
  std::vector<Block*> order;
  for (Block& block : blocks) {
    block.dead = std::min(block.dead, instructions);
    order.push_back(&block);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Block* a, const Block* b) { return a->bytes > b->bytes; });
  PlacedBlocks placed;
  std::int64_t arena = 0;
  for (Block* block : order) {
    for (const auto& [offset, other] : placed.beside(*block)) {
      if (block->offset + block->bytes <= offset) break;
      block->offset = std::max(block->offset, offset + other->bytes);
    }
    arena = std::max(arena, block->offset + block->bytes);
    placed.add(block);
  }
  return arena;
}

/// Returns whether each node computes a gradient; other nodes of the backward pass compute
/// activations again, and have the place, layer and op of a forward node.
std::vector<bool> gradient_nodes(const Graph& graph) {
  std::set<std::tuple<Place, std::string, Op>> forward;
  for (const Node& node : graph.nodes()) {
    if (node.phase == Phase::Forward) forward.insert({node.place, node.layer, node.op});
  }
  std::vector<bool> is_gradient(graph.nodes().size());
  for (std::size_t id = 0; id < is_gradient.size(); ++id) {
    const Node& node = graph.nodes()[id];
    if (node.phase != Phase::Backward) continue;
    is_gradient[id] = !forward.contains({node.place, node.layer, node.op}) ||
                      std::any_of(node.inputs.begin(), node.inputs.end(), [&](Value input) {
                        return is_gradient[static_cast<std::size_t>(input.node)];
                      });
  }
  return is_gradient;
}

/// Splits an arena of `bytes` among the blocks that live when most bytes are alive.
MemoryUse use_of(const Graph& graph, const std::vector<bool>& gradients_at,
                 const std::vector<Block>& blocks, std::int64_t bytes) {
  std::map<int, std::int64_t> changes;  // by instruction
  for (const Block& block : blocks) {
    changes[block.born] += block.bytes;
    changes[block.dead + 1] -= block.bytes;
  }
  std::int64_t alive = 0, most = 0;
  int fullest = 0;
  for (const auto& [instruction, change] : changes) {
    alive += change;
    if (alive <= most) continue;
    most = alive;
    fullest = instruction;
  }
  MemoryUse use;
  for (const Block& block : blocks) {
    if (block.born > fullest || block.dead < fullest) continue;
    const NodeId id = block.values[0].node;
    const Phase phase = graph.node(id).phase;
    const bool computes = phase == Phase::Forward || phase == Phase::Backward;
    const bool is_gradient = gradients_at[static_cast<std::size_t>(id)];
    (is_gradient ? use.gradients : computes ? use.activations : use.others) += block.bytes;
  }
  use.others += bytes - use.sum();
  return use;
}

}  // namespace

void MemoryUse::add(const MemoryUse& other) {
  parameters += other.parameters;
  slots += other.slots;
  activations += other.activations;
  gradients += other.gradients;
  others += other.others;
}

MemoryPlan plan_memory(const Graph& graph, const Plan& plan,
                       const std::map<Value, std::int64_t>& beside) {
  const auto lane_at = [&](NodeId id) { return static_cast<std::size_t>(plan.lane_of(id)); };
  Lives lives = lives_of(graph, plan);
  std::map<Value, int>& dead = lives.dead;
  std::map<Value, int> readers = reader_counts(graph);
  std::vector<std::vector<Block>> blocks(plan.lanes().size());
  // Buckets first: their values are contiguous.
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::AllGather) blocks[lane_at(id)].push_back(gathered(graph, plan, id, lives));
    if (node.op != Op::AllReduce && node.op != Op::ReduceScatter) continue;
    Block bucket{.values = {}, .bytes = 0, .born = kForever, .dead = 0, .offset = 0};
    for (Value input : node.inputs) {
      const Storage& source = plan.storage(input);
      check(source.variable < 0 && source.offset_bytes == 0 && dead.contains(source.owner),
            "what is reduced owns its memory and is reduced once");
      check(readers[input] == 1 && readers[source.owner] == 1,
            "what is reduced has no other reader");
      bucket.values.push_back(source.owner);
      bucket.bytes += graph.type(source.owner).bytes();
      bucket.born = std::min(bucket.born, plan.index_of(source.owner.node));
      bucket.dead = std::max(bucket.dead, dead[source.owner]);
      dead.erase(source.owner);
    }
    blocks[lane_at(bucket.values[0].node)].push_back(bucket);
  }
  for (const auto& [value, death] : dead) {
    const bool forever = lives.kept.contains(value);
    const auto more = beside.find(value);
    blocks[static_cast<std::size_t>(plan.lane_of(value.node))].push_back(
        {.values = {value},
         .bytes = graph.type(value).bytes() + (more == beside.end() ? 0 : more->second),
         .born = forever ? 0 : plan.index_of(value.node),
         .dead = death,
         .offset = 0});
  }

  MemoryPlan memory;
  const std::vector<bool> gradients_at = gradient_nodes(graph);
  for (std::size_t lane = 0; lane < blocks.size(); ++lane) {
    for (Block& block : blocks[lane]) {
      block.bytes = aligned(block.bytes);
      memory.sum_of_values += block.bytes;
    }
    memory.arena_bytes.push_back(
        assign_offsets(blocks[lane], static_cast<int>(plan.lanes()[lane].instructions.size())));
    memory.arena_use.push_back(
        use_of(graph, gradients_at, blocks[lane], memory.arena_bytes.back()));
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

std::map<Place, MemoryUse> planned_memory(const Graph& graph, const Plan& plan,
                                          const MemoryPlan& memory) {
  std::map<Place, MemoryUse> uses;
  for (const Variable& variable : graph.variables()) {
    MemoryUse& use = uses[variable.place];
    (variable.kind == VariableKind::Slot ? use.slots : use.parameters) += variable.type.bytes();
  }
  for (std::size_t lane = 0; lane < plan.lanes().size(); ++lane) {
    uses[plan.lanes()[lane].place].add(memory.arena_use[lane]);
  }
  return uses;
}

}  // namespace regatta
