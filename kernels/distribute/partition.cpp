// SPDX-License-Identifier: Apache-2.0
#include "kernels/distribute/partition.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/distribute/alike_places.h"
#include "kernels/distribute/loop_map.h"
#include "kernels/distribute/loops.h"
#include "kernels/distribute/message_sums.h"
#include "kernels/distribute/messages.h"
#include "kernels/distribute/sends_under_way.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/expiry.h"
#include "kernels/graph/listed_types.h"
#include "kernels/graph/node_steps.h"
#include "kernels/graph/period.h"

namespace regatta {
namespace {

std::vector<std::int64_t> coordinates(const Place& place) {
  return {place.replica, place.stage, place.shard, static_cast<int>(place.role)};
}

Place place_of(const std::vector<std::int64_t>& words) {
  return {.replica = static_cast<int>(words.at(0)),
          .stage = static_cast<int>(words.at(1)),
          .shard = static_cast<int>(words.at(2)),
          .role = static_cast<Role>(words.at(3))};
}

Node communication(Op op, const Place& place, const std::string& layer) {
  return {.op = op,
          .attributes = {},
          .inputs = {},
          .variables = {},
          .outputs = {},
          .place = place,
          .member = 0,
          .phase = Phase::Communication,
          .layer = layer};
}

bool shares_variables(const Graph& graph) {
  return std::any_of(graph.variables().begin(), graph.variables().end(),
                     [](const Variable& each) { return each.sharing != Sharing::None; });
}

class Partitioner {
 public:
  Partitioner(const Step& step, const Binding& binding)
      : step_(step),
        binding_(binding),
        loops_(step, binding),
        expiries_(expiries(step)),
        loops_step_apart_(loops_step_apart(step.graph)),
        messages_(messages(step.graph, binding)),
        sums_(message_sums(step.graph, messages_)),
        periods_(periods_of_travel(step.graph)),
        unsent_(messages_.size()),
        under_way_(step.graph),
        copier_(step.graph),
        nodes_(step.graph.nodes().size(), -1) {
    // A local term that expires is no longer recomputed: later steps would add onto the old sum.
    std::erase_if(sums_, [this](const MessageSum& sum) {
      if (!binding_.adds_messages(messages_[sum.messages.front()].to)) return true;
      return sum.onto && expiries_[static_cast<std::size_t>(sum.onto->node)] != kNeverExpires;
    });
    Step part;
    part.global_batch = step.global_batch;
    part.normalization_group = step.normalization_group;
    part.alike = step.alike;
    part.partition.loops = loops_.count();
    part.partition.models = loops_.models();
    for (int& p = part.partition.process; p < binding.processes; ++p) parts_.push_back(part);
    parts_.front().partition.process_of_place = processes_of_places(step, binding);
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      unsent_[m] = messages_[m].values.size();
      for (Value value : messages_[m].values) {
        message_of_[{value, messages_[m].to}] = m;
        leaves_in_[value.node].insert(m);
      }
    }
    for (const MessageSum& sum : sums_) {
      for (Value value : sum.sums) sum_of_[value.node] = &sum;
    }
    for (const auto& [number, places] : places_of_groups(step.graph)) {
      Group& group = groups_[number];
      for (const Place& each : places) group.processes.push_back(binding.process_of(each));
      group.between = differences_between(places);
    }
  }

  std::vector<Step> run() {
    const Graph& graph = step_.graph;
    std::vector<std::size_t> nodes(parts_.size()), variables(parts_.size());
    for (const Node& node : graph.nodes()) ++nodes.at(at(binding_.process_of(node.place)));
    for (const Message& message : messages_) {  // sent, ended and received
      nodes.at(at(binding_.process_of(message.from))) += 2;
      ++nodes.at(at(binding_.process_of(message.to)));
    }
    for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
      ++variables.at(at(process_of_variable(v)));
    }
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      parts_[p].graph.reserve_nodes(nodes[p]);
      parts_[p].graph.reserve_variables(variables[p]);
    }
    for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
      copier_.map_variable(v, part(process_of_variable(v)).graph.add(graph.variable(v)));
    }
    for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
      for (const SendsToEnd& sends : under_way_.end_before(graph.node(id))) add_sent(sends);
      place_node(id);
      send_what_left(id);
    }
    for (const SendsToEnd& sends : under_way_.end_all(loops_.of_nodes())) add_sent(sends);
    for (const Trainable& trainable : step_.trainables) add_trainable(trainable);
    for (Value loss : step_.losses) {
      part(process_of(loss.node)).losses.push_back(copier_.value(loss));
    }
    for (Step& part : parts_) {
      if (shares_variables(part.graph)) part.staleness_bound = step_.staleness_bound;
      tell_models(part);
    }
    return std::move(parts_);
  }

 private:
  struct Group {  ///< the members of a collective
    std::vector<std::int64_t> processes;
    std::string between;
  };

  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  Step& part(int process) { return parts_.at(at(process)); }
  int process_of(NodeId id) const { return binding_.process_of(step_.graph.node(id).place); }
  int process_of_variable(VariableId v) const {
    return binding_.process_of(step_.graph.variable(v).place);
  }

  /// Appends a node that belongs to loop `loop` of the whole graph.
  NodeId add(int process, Node node, int loop) {
    Partition& partition = part(process).partition;
    const auto found = std::find_if(partition.parts.begin(), partition.parts.end(),
                                    [&](const LoopPart& p) { return p.number == loop; });
    partition.loop_of.push_back(static_cast<int>(found - partition.parts.begin()));
    if (found == partition.parts.end()) partition.parts.push_back(loops_.loop(loop));
    return part(process).graph.add(std::move(node));
  }

  void place_node(NodeId id) {
    if (const auto sum = sum_of_.find(id); sum != sum_of_.end()) {
      if (nodes_[at(id)] < 0) add_up(*sum->second);
      return;
    }
    const int process = process_of(id);
    Node node = step_.graph.node(id);
    for (Value& input : node.inputs) input = arrived(input, node.place);
    for (VariableId& v : node.variables) {
      check(process_of_variable(v) == process, "a node uses variables of its own process");
      v = copier_.variable(v);
    }
    if (is_collective(node.op)) {
      const Group& group = groups_.at(node.attributes.integer("group"));
      const auto here = std::count(group.processes.begin(), group.processes.end(), process);
      if (here < std::ssize(group.processes)) node.attributes.set("processes", group.processes);
      if (!group.between.empty()) node.attributes.set("between", group.between);
    }
    set_until(node.attributes, expiries_[static_cast<std::size_t>(id)]);
    if (is_collective(node.op)) share_with_members(node);
    if (node.op == Op::Lookahead && loops_step_apart_) set_loops_step_apart(node.attributes);
    nodes_[at(id)] = add(process, std::move(node), loops_.of(id));
    copier_.map_outputs(id, nodes_[at(id)]);
  }

  /// Makes equal attributes of a collective's members one copy: each lists all processes.
  void share_with_members(Node& node) {
    Attributes& last = attributes_of_group_[node.attributes.integer("group")];
    if (!(last == node.attributes)) last = node.attributes;
    node.attributes = last;
  }

  /// Sends each message that the node completes, then ends the sends that have been received before
  /// this point of the whole graph's order: so no two processes wait for each other.
  void send_what_left(NodeId id) {
    const auto found = leaves_in_.find(id);
    if (found == leaves_in_.end()) return;
    for (std::size_t m : found->second) {
      const Message& message = messages_[m];
      unsent_[m] -=
          static_cast<std::size_t>(std::count_if(message.values.begin(), message.values.end(),
                                                 [id](Value value) { return value.node == id; }));
      if (unsent_[m] > 0) continue;
      if (!message.of_server()) {
        for (Value value : message.values) {
          under_way_.begin(value, static_cast<std::int64_t>(m), message.period);
        }
      }
      Node node = communication(Op::Send, message.from, step_.graph.node(id).layer);
      for (Value value : message.values) node.inputs.push_back(copier_.value(value));
      node.attributes = {{"message", static_cast<std::int64_t>(m)},
                         {"peer", std::int64_t{binding_.process_of(message.to)}},
                         {"to", coordinates(message.to)}};
      set_period(node.attributes, message.period);
      add(process_of(id), std::move(node), loops_.of(id));
      for (const SendsToEnd& sends : under_way_.end_received(message.from)) add_sent(sends);
    }
  }

  void add_sent(const SendsToEnd& sends) {
    const NodeId first = sends.values.front().node;
    Node node =
        communication(Op::Sent, step_.graph.node(first).place, step_.graph.node(first).layer);
    for (Value value : sends.values) node.inputs.push_back(copier_.value(value));
    std::vector<std::int64_t> peers;
    for (std::int64_t m : sends.messages) {
      peers.push_back(binding_.process_of(messages_[static_cast<std::size_t>(m)].to));
    }
    node.attributes = {{"messages", sends.messages}, {"peers", std::move(peers)}};
    set_period(node.attributes, sends.period);
    add(process_of(first), std::move(node), loops_.of(first));
  }

  /// Receives message `m`; with `onto`, adds its values onto those, in place.
  std::vector<Value> receive(std::size_t m, int loop, std::vector<Value> onto = {}) {
    const Message& message = messages_[m];
    std::vector<TensorType> types;
    for (Value value : message.values) types.push_back(step_.graph.type(value));
    const NodeId first = message.values.front().node;
    Node node = communication(Op::Receive, message.to, step_.graph.node(first).layer);
    node.attributes = {{"message", static_cast<std::int64_t>(m)},
                       {"peer", std::int64_t{binding_.process_of(message.from)}},
                       {"from", coordinates(message.from)}};
    set_period(node.attributes, message.period);
    list_types(node.attributes, types);
    node.inputs.assign(onto.begin(), onto.end());
    const NodeId received = add(binding_.process_of(message.to), std::move(node), loop);
    if (!message.of_server()) {
      under_way_.received(message.values.front(), static_cast<std::int64_t>(m), message.period);
    }
    std::vector<Value> values;
    for (int i = 0; i < std::ssize(message.values); ++i) values.push_back({received, i});
    return values;
  }

  /// Receives the first message of a sum, alone or onto a local value, and each other message onto
  /// those before it.
  void add_up(const MessageSum& sum) {
    const NodeId first = sum.sums.front().node;
    std::vector<Value> values;
    if (sum.onto) values.push_back(copier_.value(*sum.onto));
    for (std::size_t m : sum.messages) values = receive(m, loops_.of(first), std::move(values));
    for (std::size_t i = 0; i < values.size(); ++i) {
      copier_.map(sum.sums[i], values[i]);
      nodes_[at(sum.sums[i].node)] = values[i].node;
    }
  }

  /// The value at `place`; receives or copies it there if needed.
  Value arrived(Value value, const Place& place) {
    const Place& source = step_.graph.node(value.node).place;
    const int process = binding_.process_of(place);
    if (source == place) return copier_.value(value);
    const std::pair key{value, place};
    if (const auto found = travelled_.find(key); found != travelled_.end()) return found->second;
    if (const auto found = message_of_.find(key); found != message_of_.end()) {
      const std::vector<Value>& values = messages_[found->second].values;
      const std::vector<Value> received = receive(found->second, loops_.of(value.node));
      for (std::size_t i = 0; i < values.size(); ++i) travelled_[{values[i], place}] = received[i];
      return travelled_.at(key);
    }
    check(process_of(value.node) == process, "a value travels between processes by a message");
    Node node = communication(Op::Copy, place, step_.graph.node(value.node).layer);
    node.inputs = {copier_.value(value)};
    node.attributes = {{"from", coordinates(source)}};
    set_period(node.attributes, periods_.at(key));
    return travelled_[key] = {add(process, std::move(node), loops_.of(value.node)), 0};
  }

  static void tell_models(Step& part) {
    Partition& partition = part.partition;
    partition.model_of.resize(part.graph.variables().size());
    for (std::size_t id = 0; id < part.graph.nodes().size(); ++id) {
      const LoopPart& loop = partition.parts[static_cast<std::size_t>(partition.loop_of[id])];
      for (VariableId v : part.graph.nodes()[id].variables) {
        partition.model_of[static_cast<std::size_t>(v)] = loop.model;
      }
    }
  }

  void add_trainable(const Trainable& trainable) {
    const Place& place = step_.graph.node(trainable.updates.front()).place;
    const int process = binding_.process_of(place);
    Trainable local;
    check(process_of_variable(trainable.variable) == process, "who updates a parameter has it");
    local.variable = copier_.variable(trainable.variable);
    local.gradient = arrived(trainable.gradient, place);
    for (NodeId update : trainable.updates) {
      local.updates.push_back(nodes_[at(update)]);
      check(local.updates.back() >= 0, "a part has the updates of its parameters");
    }
    part(process).trainables.push_back(local);
  }

  const Step& step_;
  const Binding& binding_;
  LoopMap loops_;
  std::vector<std::int64_t> expiries_;
  bool loops_step_apart_;
  std::vector<Message> messages_;
  std::vector<MessageSum> sums_;
  std::map<NodeId, const MessageSum*> sum_of_;  ///< by node of the placed graph
  std::map<std::pair<Value, Place>, Period> periods_;
  std::vector<std::size_t> unsent_;  ///< by message: values not made yet
  std::map<std::pair<Value, Place>, std::size_t> message_of_;
  std::map<NodeId, std::set<std::size_t>> leaves_in_;
  SendsUnderWay under_way_;
  std::map<std::int64_t, Group> groups_;  ///< of collectives
  std::map<std::int64_t, Attributes> attributes_of_group_;
  Copier copier_;  ///< maps each value and variable to the part of its process
  std::vector<Step> parts_;
  std::vector<NodeId> nodes_;  ///< by node of the placed graph: its node in the part of its
                               ///< process; -1 if none
  std::map<std::pair<Value, Place>, Value> travelled_;
};

}  // namespace

Place sender_of(const Node& node) { return place_of(node.attributes.integers("from")); }
Place receiver_of(const Node& node) { return place_of(node.attributes.integers("to")); }

bool is_of_server(const Node& node) {
  if (node.place.role == Role::Server) return true;
  if (node.op == Op::Send) return receiver_of(node).role == Role::Server;
  return node.op == Op::Receive && sender_of(node).role == Role::Server;
}

std::vector<Step> partition(const Step& step, const Binding& binding) {
  return Partitioner(step, binding).run();
}

}  // namespace regatta
