// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/partition.h"

#include <map>
#include <utility>

#include "kernels/graph/copier.h"
#include "kernels/graph/error.h"
#include "kernels/graph/verify.h"

namespace regatta {
namespace {

class Partitioner {
 public:
  Partitioner(const Step& step, const Binding& binding) : step_(step), binding_(binding) {
    for (int p = 0; p < binding.processes; ++p) {
      copiers_.emplace_back(step.graph);
      parts_.emplace_back();
      parts_.back().global_batch = step.global_batch;
      parts_.back().normalization_group = step.normalization_group;
    }
  }

  std::vector<Step> run() {
    const Graph& graph = step_.graph;
    for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
      const int process = binding_.process_of(graph.variable(v).place);
      copiers_.at(at(process)).map_variable(v, part(process).graph.add(graph.variable(v)));
    }
    for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) place_node(id);
    for (const Trainable& trainable : step_.trainables) add_trainable(trainable);
    for (Value loss : step_.losses) {
      const int process = process_of(loss.node);
      part(process).losses.push_back(copiers_[at(process)].value(loss));
    }
    for (const Step& part : parts_) {
      if (binding_.processes == 1) verify(part, "partition");
    }
    return std::move(parts_);
  }

 private:
  static std::size_t at(int process) { return static_cast<std::size_t>(process); }
  Step& part(int process) { return parts_.at(at(process)); }
  int process_of(NodeId id) const { return binding_.process_of(step_.graph.node(id).place); }

  void place_node(NodeId id) {
    const int process = process_of(id);
    Node node = step_.graph.node(id);
    std::vector<Value> inputs;
    for (Value input : node.inputs) inputs.push_back(arrived(input, node.place));
    for (VariableId& v : node.variables) v = copiers_[at(process)].variable(v);
    node.inputs = std::move(inputs);
    nodes_[id] = part(process).graph.add(std::move(node));
    copiers_[at(process)].map_outputs(id, nodes_[id]);
  }

  /// The value as it is at `place`, having travelled there if it must.
  Value arrived(Value value, const Place& place) {
    const Place& source = step_.graph.node(value.node).place;
    const int from = binding_.process_of(source);
    const int to = binding_.process_of(place);
    if (source == place) return copiers_[at(to)].value(value);
    auto [travelled, is_new] = travelled_.try_emplace({value, place});
    if (!is_new) return travelled->second;
    const Value local = copiers_[at(from)].value(value);
    Node node{.op = Op::Copy,
              .attributes = {},
              .inputs = {local},
              .variables = {},
              .outputs = {},
              .place = place,
              .phase = Phase::Communication,
              .layer = step_.graph.node(value.node).layer};
    if (from != to) {
      const TensorType& type = step_.graph.type(value);
      node.op = Op::Send;
      node.place = source;
      node.attributes = {{"message", next_message_}, {"peer", std::int64_t{to}}};
      part(from).graph.add(node);
      node.op = Op::Receive;
      node.place = place;
      node.inputs.clear();
      node.attributes = {{"message", next_message_++},
                         {"peer", std::int64_t{from}},
                         {"element", static_cast<std::int64_t>(type.element)},
                         {"dims", type.dims}};
    } else {
      node.attributes = {{"from", std::vector<std::int64_t>{source.replica, source.stage,
                                                            static_cast<int>(source.role)}}};
    }
    travelled->second = {part(to).graph.add(node), 0};
    return travelled->second;
  }

  void add_trainable(const Trainable& trainable) {
    const Place& place = step_.graph.node(trainable.updates.front()).place;
    const int process = binding_.process_of(place);
    Trainable local;
    local.variable = copiers_[at(process)].variable(trainable.variable);
    local.gradient = arrived(trainable.gradient, place);
    for (NodeId update : trainable.updates) local.updates.push_back(nodes_.at(update));
    part(process).trainables.push_back(local);
  }

  const Step& step_;
  const Binding& binding_;
  std::vector<Copier> copiers_;
  std::vector<Step> parts_;
  std::map<NodeId, NodeId> nodes_;
  std::map<std::pair<Value, Place>, Value> travelled_;
  std::int64_t next_message_ = 0;
};

}  // namespace

std::vector<Step> partition(const Step& step, const Binding& binding) {
  return Partitioner(step, binding).run();
}

}  // namespace regatta
