// SPDX-License-Identifier: Apache-2.0
#include "kernels/distribute/message_sums.h"

#include <map>
#include <optional>
#include <utility>

namespace regatta {
namespace {

using Arrival = std::pair<Value, Place>;

/// A value of a message, where it arrives.
struct Slot {
  std::size_t message = 0;
  std::size_t index = 0;
  std::vector<NodeId> readers;
};

bool is_plain_sum(const Node& node) {
  return node.op == Op::Sum && node.attributes.real("factor") == 1 &&
         node.outputs[0].element == ElementType::F32;
}

class Finder {
 public:
  Finder(const Graph& graph, const std::vector<Message>& messages)
      : graph_(graph), messages_(messages) {
    for (std::size_t m = 0; m < messages.size(); ++m) {
      for (std::size_t i = 0; i < messages[m].values.size(); ++i) {
        slots_[{messages[m].values[i], messages[m].to}] = {.message = m, .index = i, .readers = {}};
      }
    }
    for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
      const Node& node = graph.node(id);
      for (Value input : node.inputs) {
        ++readers_[input];
        const auto found = slots_.find({input, node.place});
        if (found != slots_.end()) found->second.readers.push_back(id);
      }
    }
  }

  /// The sum that has the message as its first term.
  std::optional<MessageSum> sum_from(std::size_t first) const {
    MessageSum sum;
    const Message& message = messages_[first];
    for (std::size_t i = 0; i < message.values.size(); ++i) {
      const std::vector<NodeId>& readers = slots_.at({message.values[i], message.to}).readers;
      if (readers.size() != 1) return {};
      const std::vector<std::size_t> terms = terms_of(readers.front(), i);
      if (i == 0) sum.messages = terms;
      if (terms.empty() || terms.front() != first || terms != sum.messages) return {};
      sum.sums.push_back({readers.front(), 0});
    }
    const Node& adder = graph_.node(sum.sums.front().node);
    if (adder.inputs.size() > sum.messages.size()) sum.onto = adder.inputs.front();
    if (message.values.size() > 1 ? sum.onto.has_value() : adder.inputs.size() < 2) return {};
    for (std::size_t m : sum.messages) {
      if (messages_[m].values.size() != message.values.size()) return {};
    }
    return sum;
  }

 private:
  /// Whether the value's memory may become the sum: no other node reads or keeps it.
  bool can_be_added_onto(Value value, const Node& adder) const {
    const Node& maker = graph_.node(value.node);
    return maker.place == adder.place && maker.phase == Phase::Backward &&
           !op_info(maker.op).view && readers_.at(value) == 1;
  }

  /// The messages with `index`-th values that the node adds up, possibly onto a first local value,
  /// and that no other node reads; empty if there are none.
  std::vector<std::size_t> terms_of(NodeId id, std::size_t index) const {
    const Node& node = graph_.node(id);
    if (!is_plain_sum(node)) return {};
    std::vector<std::size_t> terms;
    for (Value input : node.inputs) {
      const auto found = slots_.find({input, node.place});
      if (found == slots_.end() && input == node.inputs.front() && can_be_added_onto(input, node)) {
        continue;
      }
      if (found == slots_.end()) return {};
      const Slot& slot = found->second;
      if (slot.index != index || slot.readers.size() != 1) return {};
      terms.push_back(slot.message);
    }
    return terms;
  }

  const Graph& graph_;
  const std::vector<Message>& messages_;
  std::map<Arrival, Slot> slots_;
  std::map<Value, int> readers_;  ///< number of readers of each value, at any place
};

}  // namespace

std::vector<MessageSum> message_sums(const Graph& graph, const std::vector<Message>& messages) {
  const Finder finder(graph, messages);
  std::vector<MessageSum> all;
  for (std::size_t m = 0; m < messages.size(); ++m) {
    if (auto sum = finder.sum_from(m)) all.push_back(std::move(*sum));
  }
  return all;
}

}  // namespace regatta
