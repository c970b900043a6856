// SPDX-License-Identifier: Apache-2.0
#include "strategies/shard.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/copier.h"
#include "strategies/replicas.h"
#include "strategies/whole_updates.h"

namespace regatta::strategies {
namespace {

/// The rows of a parameter that one server holds.
struct Rows {
  int server = 0;
  std::int64_t row = 0;  ///< first row
  std::int64_t rows = 0;
};

/// The row boundary nearest to `byte`, counted from the beginning of the parameter.
std::int64_t row_at(const TensorType& type, double byte) {
  const double row_bytes = static_cast<double>(type.bytes()) / static_cast<double>(type.dim(0));
  const auto row = static_cast<std::int64_t>(std::llround(byte / row_bytes));
  return std::clamp<std::int64_t>(row, 0, type.dim(0));
}

class Sharder {
 public:
  Sharder(const Step& source, std::int64_t servers)
      : source_(source), servers_(servers), copier_(source.graph) {
    result_.global_batch = source.global_batch;
    result_.normalization_group = source.normalization_group;
    result_.gradient_clip = source.gradient_clip;
    deal();
  }

  /// Returns a server without parameters, or -1.
  int idle_server() const {
    std::set<int> busy;
    for (const std::vector<Rows>& parts : parts_) {
      for (const Rows& part : parts) busy.insert(part.server);
    }
    for (int server = 0; server < static_cast<int>(servers_); ++server) {
      if (!busy.contains(server)) return server;
    }
    return -1;
  }

  Step run() {
    const Graph& graph = source_.graph;
    for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
      add_variable(v);
    }
    for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
      if (!update_of_.contains(id)) copy(id);
    }
    for (std::size_t t = 0; t < source_.trainables.size(); ++t) add_trainable(t);
    for (Value loss : source_.losses) result_.losses.push_back(copier_.value(loss));
    return std::move(result_);
  }

 private:
  const std::vector<Rows>& parts_of(std::size_t t) const { return parts_[t]; }

  void deal() {
    std::int64_t total = 0;
    for (const Trainable& t : source_.trainables) {
      total += source_.graph.variable(t.variable).type.bytes();
    }
    const double range = static_cast<double>(total) / static_cast<double>(servers_);
    std::int64_t begin = 0;
    for (std::size_t t = 0; t < source_.trainables.size(); ++t) {
      const Trainable& trainable = source_.trainables[t];
      const TensorType& type = source_.graph.variable(trainable.variable).type;
      parts_.push_back(deal_one(trainable, static_cast<double>(begin), range));
      begin += type.bytes();
      for (NodeId update : trainable.updates) {
        update_of_[update] = t;
        for (VariableId v : source_.graph.node(update).variables) trainable_of_[v] = t;
      }
    }
  }

  /// `begin`: position of the parameter in all parameters laid end to end. `range`: bytes of a
  /// server. Units: bytes.
  std::vector<Rows> deal_one(const Trainable& trainable, double begin, double range) const {
    const TensorType& type = source_.graph.variable(trainable.variable).type;
    const auto server_at = [&](double byte) {
      return std::clamp(static_cast<int>(byte / range), 0, static_cast<int>(servers_) - 1);
    };
    if (type.bytes() < kSplitBytes || type.rank() == 0 || updates_whole(source_.graph, trainable)) {
      const double middle = begin + static_cast<double>(type.bytes()) / 2;
      return {{.server = server_at(middle), .row = 0, .rows = type.rank() ? type.dim(0) : 1}};
    }
    std::vector<Rows> parts;
    std::int64_t row = 0;
    for (int server = server_at(begin); row < type.dim(0); ++server) {
      const bool last = server == static_cast<int>(servers_) - 1;
      const std::int64_t end = last ? type.dim(0) : row_at(type, (server + 1) * range - begin);
      if (end > row) parts.push_back({.server = server, .row = row, .rows = end - row});
      row = std::max(row, end);
    }
    return parts;
  }

  static std::string name_of(const std::string& whole, const Rows& part) {
    return whole + '[' + std::to_string(part.row) + ':' + std::to_string(part.row + part.rows) +
           ']';
  }

  void add_variable(VariableId v) {
    const Variable& whole = source_.graph.variable(v);
    const auto found = trainable_of_.find(v);
    if (found == trainable_of_.end()) {
      copier_.map_variable(v, result_.graph.add(whole));
      return;
    }
    const std::vector<Rows>& parts = parts_of(found->second);
    for (const Rows& part : parts) {
      Variable variable = whole;
      variable.place.stage = part.server;
      if (parts.size() > 1) {
        variable.name = name_of(whole.name, part);
        variable.part_of = PartOf{.name = whole.name, .type = whole.type, .row = part.row};
        variable.type.dims[0] = part.rows;
      }
      variables_[v].push_back(result_.graph.add(variable));
    }
  }

  void copy(NodeId id) {
    const Node& node = source_.graph.node(id);
    const NodeId read = read_of(id);
    if (read < 0) {
      copier_.copy(id, result_.graph);
      return;
    }
    const VariableId variable = source_.graph.node(read).variables[0];
    const std::vector<Rows>& parts = parts_of(trainable_of_.at(variable));
    Builder builder(result_.graph);
    builder.in(node.phase).layer(node.layer);
    std::vector<Value> values;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      builder.at(on(parts[i], node.place));
      values.push_back(node.op == Op::Read
                           ? builder.read(variables_.at(variable)[i])
                           : builder.cast(parts_read_.at(read)[i], node.outputs[0].element));
    }
    builder.at(node.place);
    if (node.op == Op::Read) {
      parts_read_[id] = values;
      if (is_only_cast(id)) return;
    }
    copier_.map({id, 0}, values.size() == 1 ? values[0] : builder.concatenate(values));
  }

  /// The node that reads a trainable, if this node is such a read or casts one; else -1.
  NodeId read_of(NodeId id) const {
    if (source_.graph.node(id).op == Op::Cast) id = source_.graph.node(id).inputs[0].node;
    const Node& node = source_.graph.node(id);
    return node.op == Op::Read && trainable_of_.contains(node.variables[0]) ? id : -1;
  }

  bool is_only_cast(NodeId read) const {
    const auto& nodes = source_.graph.nodes();
    return std::all_of(nodes.begin(), nodes.end(), [read](const Node& node) {
      return node.op == Op::Cast ||
             std::find(node.inputs.begin(), node.inputs.end(), Value{read, 0}) == node.inputs.end();
    });
  }

  static Place on(const Rows& part, Place place) {
    place.stage = part.server;
    return place;
  }

  void add_trainable(std::size_t t) {
    const Trainable& trainable = source_.trainables[t];
    const Value gradient = copier_.value(trainable.gradient);
    const std::vector<Rows>& parts = parts_of(t);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Builder builder(result_.graph);
      builder.at(result_.graph.node(gradient.node).place)
          .in(Phase::Backward)
          .layer(source_.graph.node(trainable.gradient.node).layer);
      const Value slope =
          parts.size() == 1 ? gradient : builder.slice(gradient, parts[i].row, parts[i].rows);
      Trainable added{
          .variable = variables_.at(trainable.variable)[i], .gradient = slope, .updates = {}};
      for (NodeId id : trainable.updates) {
        Node update = source_.graph.node(id);
        for (Value& input : update.inputs) {
          check(input == trainable.gradient, "an update's input is its gradient");
          input = slope;
        }
        for (VariableId& v : update.variables) v = variables_.at(v)[i];
        update.place = on(parts[i], update.place);
        added.updates.push_back(result_.graph.add(std::move(update)));
      }
      result_.trainables.push_back(std::move(added));
    }
  }

  const Step& source_;
  std::int64_t servers_;
  Copier copier_;
  Step result_;
  std::vector<std::vector<Rows>> parts_;  ///< by trainable
  std::map<NodeId, std::size_t> update_of_;
  std::map<VariableId, std::size_t> trainable_of_;
  std::map<VariableId, std::vector<VariableId>> variables_;  ///< by trainable's variable, then part
  std::map<NodeId, std::vector<Value>> parts_read_;          ///< by read of a trainable, then part
};

}  // namespace

Step shard(const Step& step, std::int64_t servers, std::string_view strategy) {
  require_whole_batch(step.graph, strategy);
  for (const Node& node : step.graph.nodes()) {
    if (node.place.stage == 0) continue;
    throw RunError(ErrorKind::Usage,
                   "strategy '" + std::string(strategy) +
                       "' cannot be applied to a step that is already dealt to stages; fix: leave "
                       "model_parallel out");
  }
  if (servers < 1) throw RunError(ErrorKind::Usage, "--servers is at least 1");
  Sharder sharder(step, servers);
  if (sharder.idle_server() >= 0) {
    throw RunError(ErrorKind::Usage,
                   "--servers " + std::to_string(servers) + ": nothing is left for server " +
                       std::to_string(sharder.idle_server()) + " of strategy '" +
                       std::string(strategy) + "'; this model's parameters want fewer servers");
  }
  return sharder.run();
}

}  // namespace regatta::strategies
