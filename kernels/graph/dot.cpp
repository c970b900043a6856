// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/dot.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "kernels/graph/collective.h"
#include "kernels/graph/op.h"

namespace regatta {
namespace {

constexpr const char* kShared = "shared memory";
constexpr const char* kCrossing = "#c00000";
constexpr const char* kKept = "#999999";  ///< forward values that backward needs

struct Box {
  std::string cluster;
  std::string title;
  std::string color;
  std::string shape = "box";
  std::vector<std::string> lines;
};

struct Arrow {
  bool crosses = false;
  std::int64_t bytes = 0;  ///< bytes that cross by messages
  std::string style;       ///< further attributes
};

const char* color_of(Phase phase) {
  switch (phase) {
    case Phase::Input: return "#dddddd";
    case Phase::Forward: return "#cfe2f3";
    case Phase::Backward: return "#fce5cd";
    case Phase::Communication: return "#f4cccc";
    case Phase::Update: return "#d9ead3";
  }
  return "#ffffff";
}

/// Puts all places of a server into one cluster, whichever replica they serve.
std::string cluster_of(Place place) {
  if (place.role == Role::Server) place.replica = 0;
  return to_string(place);
}

/// Puts variables that workers share into a common cluster, unless each worker has its own.
std::string cluster_of(const Graph& graph, const Variable& variable) {
  if (variable.sharing == Sharing::None || variable.place.role != Role::Worker) {
    return cluster_of(variable.place);
  }
  const bool has_others =
      std::any_of(graph.variables().begin(), graph.variables().end(), [&](const Variable& other) {
        return other.name == variable.name && other.place.replica != variable.place.replica;
      });
  return has_others ? cluster_of(variable.place) : kShared;
}

/// `dense` for dense_backward_weights; the box shows the phase already.
std::string short_name(Op op) {
  const std::string name(to_string(op));
  return name.substr(0, name.find("_backward"));
}

std::string bytes_text(std::int64_t bytes) {
  char text[32];
  const auto amount = static_cast<double>(bytes);
  if (bytes < 1000) {
    std::snprintf(text, sizeof text, "%.0f B", amount);
  } else {
    std::snprintf(text, sizeof text, "%.3g %s", bytes < 1'000'000 ? amount / 1e3 : amount / 1e6,
                  bytes < 1'000'000 ? "kB" : "MB");
  }
  return text;
}

void add_line(Box& box, const std::string& line) {
  if (std::find(box.lines.begin(), box.lines.end(), line) == box.lines.end()) {
    box.lines.push_back(line);
  }
}

class Drawing {
 public:
  explicit Drawing(const Graph& graph) : graph_(graph), layer_(graph.variables().size()) {
    for (const Node& node : graph_.nodes()) {
      serves_many_ |= node.place.role == Role::Server && node.place.replica > 0;
      for (VariableId id : node.variables) {
        std::string& layer = layer_[static_cast<std::size_t>(id)];
        if (layer.empty()) layer = node.layer.empty() ? graph_.variable(id).name : node.layer;
      }
    }
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      if (graph_.node(id).op != Op::Read) draw(id);
    }
  }

  std::string text() const {
    std::string text =
        "digraph step {\n  newrank=true; ranksep=0.35; nodesep=0.25; fontname=Helvetica;\n"
        "  node [shape=box, style=filled, color=\"#555555\", fontname=Helvetica, fontsize=11];\n"
        "  edge [color=\"#333333\", arrowsize=0.7, fontname=Helvetica, fontsize=10];\n";
    std::vector<std::string> clusters;
    for (const Box& box : boxes_) {
      if (std::find(clusters.begin(), clusters.end(), box.cluster) == clusters.end()) {
        clusters.push_back(box.cluster);
      }
    }
    for (std::size_t i = 0; i < clusters.size(); ++i) text += cluster_text(clusters[i], i);
    for (const auto& [ends, arrow] : arrows_) text += arrow_text(ends, arrow);
    return text + "}\n";
  }

 private:
  using Ends = std::pair<std::size_t, std::size_t>;  // boxes

  /// `key`: equal for nodes that share a box.
  std::size_t box(const std::string& key, const Box& otherwise) {
    const auto [found, is_new] = box_of_.try_emplace(key, boxes_.size());
    if (is_new) boxes_.push_back(otherwise);
    return found->second;
  }

  std::size_t box_of(NodeId id) {
    const Node& node = graph_.node(id);
    const std::string phase(to_string(node.phase));
    std::string key = to_string(node.place) + ' ' + phase + ' ' + node.layer;
    Box box{.cluster = cluster_of(node.place), .title = node.layer, .color = color_of(node.phase)};
    if (node.phase == Phase::Backward) box.title += " backward";
    if (node.phase == Phase::Update) box.title = "update " + box.title;
    if (serves_many_ && node.place.role == Role::Server) {
      box.title += "\\nfor replica" + std::to_string(node.place.replica);
    }
    if (is_collective(node.op)) {
      key += std::to_string(node.attributes.integer("group"));
      std::int64_t bytes = 0;
      for (const TensorType& type : bucket_of(graph_, node)) bytes += type.bytes();
      box.title = std::string(to_string(node.op)) + "\\n" + node.attributes.text("algorithm") +
                  " of " + bytes_text(bytes);
      box.shape = "ellipse";
    }
    const std::size_t index = this->box(key, box);
    const bool says_more = !is_collective(node.op) && short_name(node.op) != node.layer;
    if (says_more) add_line(boxes_[index], short_name(node.op));
    return index;
  }

  std::size_t box_of(const Variable& variable, const std::string& layer) {
    const std::string cluster = cluster_of(graph_, variable);
    const std::size_t index = box(
        "variables " + cluster + ' ' + layer,
        {.cluster = cluster, .title = layer, .color = "#fff2cc", .shape = "cylinder", .lines = {}});
    const std::size_t prefix = variable.name.rfind('.');
    add_line(boxes_[index],
             prefix == std::string::npos ? variable.name : variable.name.substr(prefix + 1));
    return index;
  }

  void draw(NodeId id) {
    const Node& node = graph_.node(id);
    const std::size_t to = box_of(id);
    if (is_collective(node.op)) join(node, to);
    for (VariableId variable : node.variables) draw_variable(node, variable, to);
    for (Value input : node.inputs) draw_input(node, input, to);
  }

  void draw_variable(const Node& node, VariableId id, std::size_t at) {
    const Variable& variable = graph_.variable(id);
    if (variable.kind == VariableKind::Slot) return;
    const std::size_t cylinder = box_of(variable, layer_[static_cast<std::size_t>(id)]);
    const bool assigns = op_info(node.op).assigns;
    Arrow& arrow = arrows_[assigns ? Ends{at, cylinder} : Ends{cylinder, at}];
    arrow.crosses = boxes_[at].cluster != boxes_[cylinder].cluster;
    if (assigns) arrow.style = "style=dashed, constraint=false";
  }

  void draw_input(const Node& node, Value input, std::size_t to) {
    const Node& source = graph_.node(input.node);
    const std::string cluster = cluster_of(node.place);
    const bool is_variable = source.op == Op::Read;
    const bool by_message = cluster_of(source.place) != cluster;
    if ((is_variable || by_message) && !arrived_.insert({input, cluster}).second) return;
    std::size_t from = 0;
    if (is_variable) {
      const VariableId id = source.variables.front();
      from = box_of(graph_.variable(id), layer_[static_cast<std::size_t>(id)]);
    } else {
      from = box_of(input.node);
    }
    if (from == to) return;
    Arrow& arrow = arrows_[{from, to}];
    arrow.crosses = boxes_[from].cluster != boxes_[to].cluster;
    if (by_message) arrow.bytes += graph_.type(input).bytes();
    const bool kept = source.phase <= Phase::Forward && node.phase == Phase::Backward;
    if (kept && !is_variable && !arrow.crosses) arrow.style = "color=\"" + std::string(kKept) + '"';
  }

  /// Members of a collective exchange in both directions and are drawn side by side.
  void join(const Node& node, std::size_t at) {
    const auto [member, is_first] = last_member_.try_emplace(node.attributes.integer("group"), at);
    if (!is_first) {
      arrows_[{member->second, at}] = {.crosses = true, .style = "dir=both, constraint=false"};
    }
    member->second = at;
  }

  std::string cluster_text(const std::string& cluster, std::size_t number) const {
    std::string text = "  subgraph cluster_" + std::to_string(number) + " {\n    label=\"" +
                       cluster + "\"; fontsize=13; color=\"#888888\"; style=rounded;\n";
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      const Box& box = boxes_[i];
      if (box.cluster != cluster) continue;
      std::string label = box.title;
      for (std::size_t line = 0; line < box.lines.size(); ++line) {
        label += (line == 0 ? "\\n" : ", ") + box.lines[line];
      }
      text += "    b" + std::to_string(i) + " [label=\"" + label + "\", fillcolor=\"" + box.color +
              '"' + (box.shape == "box" ? "" : ", shape=" + box.shape) + "];\n";
    }
    return text + "  }\n";
  }

  static std::string arrow_text(const Ends& ends, const Arrow& arrow) {
    std::string attributes = arrow.style;
    const auto add = [&](const std::string& text) {
      attributes += (attributes.empty() ? "" : ", ") + text;
    };
    if (arrow.crosses) add("penwidth=2, color=\"" + std::string(kCrossing) + '"');
    if (arrow.bytes > 0) {
      add("label=\" " + bytes_text(arrow.bytes) + "\", fontcolor=\"" + kCrossing + '"');
    }
    return "  b" + std::to_string(ends.first) + " -> b" + std::to_string(ends.second) +
           (attributes.empty() ? "" : " [" + attributes + ']') + ";\n";
  }

  const Graph& graph_;
  std::vector<std::string> layer_;  // by variable: layer of the first node that uses it
  bool serves_many_ = false;
  std::map<std::string, std::size_t> box_of_;
  std::vector<Box> boxes_;
  std::map<Ends, Arrow> arrows_;
  std::set<std::pair<Value, std::string>> arrived_;  // values by cluster
  std::map<std::int64_t, std::size_t> last_member_;  // by collective
};

}  // namespace

std::string to_dot(const Graph& graph) { return Drawing(graph).text(); }

}  // namespace regatta
