// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/plan.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "kernels/base/error.h"
#include "kernels/distribute/loops.h"
#include "kernels/distribute/partition.h"
#include "kernels/graph/collective.h"

namespace regatta {
namespace {

std::int64_t message_bytes(const Graph& graph, const Node& node) {
  std::int64_t bytes = 0;
  for (const TensorType& type : node.outputs) bytes += type.bytes();
  if (node.op == Op::ReduceScatter) bytes = 0;  // the bucket counts, which is equal at all members
  if (node.op == Op::Send || node.op == Op::Sent || node.op == Op::ReduceScatter) {
    for (Value input : node.inputs) bytes += graph.type(input).bytes();
  }
  return bytes;
}

/// The number of the node's first outputs that replace the inputs of the same number.
std::size_t outputs_in_place(const Node& node) {
  switch (node.op) {
    case Op::AllReduce:
    case Op::Receive: return node.inputs.size();
    case Op::Sum: return node.attributes.has("in_place") ? 1 : 0;
    case Op::Quorum:
      return node.inputs.size() - static_cast<std::size_t>(node.attributes.integer("hears"));
    default: return 0;
  }
}

std::int64_t row_bytes(const TensorType& type) { return type.bytes() / type.dim(0); }

}  // namespace

/// The places in the bucket where a reduce_scatter leaves its sums.
std::vector<Storage> Plan::storage_of_pieces(const Graph& graph, const Node& node) const {
  const std::vector<TensorType> bucket = bucket_of(graph, node);
  std::vector<Storage> outputs;
  for (const Piece& piece : pieces(bucket, node.attributes.integer("members"), node.member)) {
    outputs.push_back(storage(node.inputs[piece.tensor]));
    outputs.back().offset_bytes += piece.elements.begin * size_of(bucket[piece.tensor].element);
  }
  return outputs;
}

bool is_view(const Graph& graph, const Node& node) {
  if (!op_info(node.op).view) return false;
  return node.op != Op::Read || graph.variable(node.variables[0]).sharing == Sharing::None;
}

Value what_is_viewed(const Graph& graph, Value value) {
  const auto is_view_of_a_value = [&](const Node& node) {
    return is_view(graph, node) && !node.inputs.empty();
  };
  while (is_view_of_a_value(graph.node(value.node))) value = graph.node(value.node).inputs[0];
  return value;
}

bool are_stages(const Place& one, const Place& other) {
  return one.role == Role::Worker && other.role == Role::Worker && one.replica == other.replica &&
         one != other;
}

bool comes_from_stage(const Graph& graph, const Node& node) {
  if (!op_info(node.op).crosses) return false;
  if (node.op == Op::Receive) return are_stages(node.place, sender_of(node));
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value input) {
    return are_stages(node.place, graph.node(input.node).place);
  });
}

Plan::Plan(const Step& step, const PlanOptions& options) {
  resolve_storage(step.graph);
  deal_to_lanes(step, options);
  for (LanePlan& lane : lanes_) {
    const bool gathers = options.gathers_casts && options.gathers_casts(lane.place);
    if (gathers && !lane.communication) gather_casts(step.graph, lane);
  }
  find_dependencies(step.graph);
  find_waits_for_memory(step.graph);
  find_waits_for_stages(step.graph);
  for (const Value loss : step.losses) look_at(step.graph, loss);
}

const Storage& Plan::storage(Value value) const {
  return storage_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
}

void Plan::resolve_storage(const Graph& graph) {
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    std::vector<Storage> outputs(node.outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs[i].owner = {id, static_cast<int>(i)};
      if (i < outputs_in_place(node)) outputs[i] = storage(node.inputs[i]);
    }
    if (node.op == Op::ReduceScatter) outputs = storage_of_pieces(graph, node);
    if (is_view(graph, node)) {
      if (node.op == Op::Read) {
        outputs[0] = {.variable = node.variables[0], .owner = {}, .offset_bytes = 0};
      } else {
        outputs[0] = storage(node.inputs[0]);
        if (node.op == Op::Slice) {
          outputs[0].offset_bytes +=
              node.attributes.integer("offset") * row_bytes(graph.type(node.inputs[0]));
        }
      }
    }
    storage_.push_back(std::move(outputs));
  }
}

/// Uses the loops of the whole graph, of which a process may have unconnected pieces.
void Plan::deal_to_lanes(const Step& step, const PlanOptions& options) {
  const Graph& graph = step.graph;
  const std::vector<int>& told = step.partition.loop_of;
  const std::vector<int> loop_of = told.empty() ? loops(graph) : told;
  std::map<std::tuple<int, Place, bool, bool>, int> numbers;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    const int loop = loop_of[static_cast<std::size_t>(id)];
    loop_count_ = std::max(loop_count_, loop + 1);
    lane_of_.push_back(-1);
    index_of_.push_back(-1);
    if (is_view(graph, node)) continue;
    const bool apart =
        op_info(node.op).crosses && message_bytes(graph, node) >= options.inline_bytes;
    const bool receives = apart && node.op == Op::Receive && !is_of_server(node);
    const auto [entry, is_new] =
        numbers.try_emplace({loop, node.place, apart, receives}, static_cast<int>(lanes_.size()));
    if (is_new) {
      lanes_.push_back({.place = node.place,
                        .loop = loop,
                        .communication = apart,
                        .receives = receives,
                        .instructions = {}});
    }
    auto& instructions = lanes_[static_cast<std::size_t>(entry->second)].instructions;
    lane_of_.back() = entry->second;
    index_of_.back() = static_cast<int>(instructions.size());
    instructions.push_back({.node = id, .waits = {}, .awaited = false});
  }
}

/// Moves the lane's casts of variables together, to the first of them. A cast of a variable that is
/// assigned before it stays.
void Plan::gather_casts(const Graph& graph, LanePlan& lane) {
  std::map<VariableId, NodeId> first_assignment;
  for (NodeId id = static_cast<NodeId>(graph.nodes().size()) - 1; id >= 0; --id) {
    if (!op_info(graph.node(id).op).assigns) continue;
    for (const VariableId v : graph.node(id).variables) first_assignment[v] = id;
  }
  const auto is_free = [&](const Instruction& instruction) {
    const Node& node = graph.node(instruction.node);
    if (node.op != Op::Cast) return false;
    const VariableId variable = storage(node.inputs[0]).variable;
    if (variable < 0) return false;
    const auto assigned = first_assignment.find(variable);
    return assigned == first_assignment.end() || instruction.node < assigned->second;
  };
  auto& all = lane.instructions;
  const auto first = std::find_if(all.begin(), all.end(), is_free);
  std::stable_partition(first, all.end(), is_free);
  for (std::size_t i = 0; i < all.size(); ++i) {
    index_of_[static_cast<std::size_t>(all[i].node)] = static_cast<int>(i);
  }
}

void Plan::depend(NodeId later, NodeId earlier) {
  const int lane = lane_of(earlier);
  if (lane < 0 || lane == lane_of(later)) return;
  auto& waiting = lanes_[static_cast<std::size_t>(lane_of(later))];
  auto& awaited = lanes_[static_cast<std::size_t>(lane)];
  check(waiting.loop == awaited.loop, "lanes wait on each other inside a loop only");
  awaited.instructions[static_cast<std::size_t>(index_of(earlier))].awaited = true;
  auto& waits = waiting.instructions[static_cast<std::size_t>(index_of(later))].waits;
  for (Dependency& wait : waits) {
    if (wait.lane != lane) continue;
    wait.index = std::max(wait.index, index_of(earlier));
    return;
  }
  waits.push_back({.lane = lane, .index = index_of(earlier)});
}

/// Values: a reader waits for the maker. Variables that are not shared: in the order of the graph,
/// a reader waits for the last assignment before it, and an assignment for all accesses before it.
void Plan::find_dependencies(const Graph& graph) {
  std::map<VariableId, NodeId> last_assignment;
  std::map<VariableId, std::vector<NodeId>> readers;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (lane_of(id) < 0) continue;
    std::vector<VariableId> read;
    std::vector<VariableId> assigned;
    for (Value input : node.inputs) {
      const Storage& source = storage(input);
      if (source.variable >= 0) {
        read.push_back(source.variable);
      } else {
        depend(
            id,
            what_is_viewed(graph, input).node);  // an all_reduce, where it writes into its inputs
      }
    }
    auto& direct = op_info(node.op).assigns ? assigned : read;
    for (VariableId v : node.variables) {
      if (graph.variable(v).sharing == Sharing::None) direct.push_back(v);
    }
    for (VariableId v : read) {
      if (last_assignment.contains(v)) depend(id, last_assignment[v]);
      readers[v].push_back(id);
    }
    for (VariableId v : assigned) {
      if (last_assignment.contains(v)) depend(id, last_assignment[v]);
      for (NodeId reader : readers[v]) depend(id, reader);
      readers[v].clear();
      last_assignment[v] = id;
    }
  }
}

/// Maps a receive to the nodes of other lanes that read its value, in the order of the graph. Only
/// for values read by forward and backward passes alone, of which a step may have many.
std::map<NodeId, std::vector<NodeId>> Plan::readers_elsewhere(const Graph& graph) const {
  std::map<NodeId, std::vector<NodeId>> readers;
  std::set<NodeId> lasting;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    if (lane_of(id) < 0) continue;
    for (const Value input : graph.node(id).inputs) {
      const Storage& source = storage(input);
      if (source.variable >= 0 || graph.node(source.owner.node).op != Op::Receive) continue;
      const Phase phase = graph.node(id).phase;
      if (phase != Phase::Forward && phase != Phase::Backward) lasting.insert(source.owner.node);
      if (lane_of(id) != lane_of(source.owner.node)) readers[source.owner.node].push_back(id);
    }
  }
  for (const NodeId id : lasting) readers.erase(id);
  return readers;
}

/// Keeps a lane that receives from running ahead of the readers of received values, and a lane that
/// makes sent values from running ahead of its messages.
void Plan::find_waits_for_memory(const Graph& graph) {
  const auto readers = readers_elsewhere(graph);
  for (const LanePlan& lane : lanes_) {
    if (!lane.receives) continue;
    std::multimap<NodeId, NodeId> read;  // by the last reader
    NodeId before = -1;
    for (const Instruction& instruction : lane.instructions) {
      const auto end = read.lower_bound(before);
      for (auto each = read.begin(); each != end; ++each) {
        for (const NodeId reader : readers.at(each->second)) depend(instruction.node, reader);
      }
      read.erase(read.begin(), end);
      before = instruction.node;
      if (const auto found = readers.find(before); found != readers.end()) {
        read.emplace(found->second.back(), before);
      }
    }
  }
  std::map<std::pair<int, Place>, NodeId> ended;  // by loop and place: the latest end of a send
  std::set<NodeId> sent;
  for (const Node& node : graph.nodes()) {
    if (node.op != Op::Send) continue;
    for (const Value input : node.inputs) sent.insert(what_is_viewed(graph, input).node);
  }
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (lane_of(id) < 0) continue;
    const std::pair key{lanes_[static_cast<std::size_t>(lane_of(id))].loop, node.place};
    if (node.op == Op::Sent && storage(node.inputs[0]).variable < 0) ended[key] = id;
    if (!sent.contains(id)) continue;
    if (const auto found = ended.find(key); found != ended.end()) depend(id, found->second);
  }
}

/// Marks waits for other stages: for a message in another lane of the place, or for a stage's lane.
void Plan::find_waits_for_stages(const Graph& graph) {
  for (LanePlan& lane : lanes_) {
    for (Instruction& instruction : lane.instructions) {
      for (Dependency& wait : instruction.waits) {
        const LanePlan& other = lanes_[static_cast<std::size_t>(wait.lane)];
        const NodeId awaited = other.instructions[static_cast<std::size_t>(wait.index)].node;
        wait.of_stage = are_stages(lane.place, other.place) ||
                        (lane.place == other.place && comes_from_stage(graph, graph.node(awaited)));
      }
    }
  }
}

/// Adds a loss and, if it is a sum, its single terms, but not its partial sums.
void Plan::look_at(const Graph& graph, Value loss) {
  std::vector<Value> sums{loss};
  while (!sums.empty()) {
    const Node& sum = graph.node(sums.back().node);
    sums.pop_back();
    if (sum.op != Op::Sum) continue;
    for (const Value term : sum.inputs) {
      if (lane_of(term.node) != lane_of(loss.node)) continue;
      (graph.node(term.node).op == Op::Sum ? sums : looked_at_).push_back(term);
    }
  }
  looked_at_.push_back(loss);
}

}  // namespace regatta
