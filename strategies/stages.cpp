// SPDX-License-Identifier: Apache-2.0
#include "strategies/stages.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/collective.h"
#include "strategies/shared_options.h"

namespace regatta::strategies {
namespace {

constexpr int kNoPart = -1;

/// Finds the parts of a model.
class Parts {
 public:
  explicit Parts(const Graph& graph)
      : graph_(graph),
        of_node_(graph.nodes().size(), kNoPart),
        of_variable_(graph.variables().size(), kNoPart),
        of_batch_(graph.nodes().size()) {
    for (NodeId id = 0; id < size(); ++id) deal_forward(id);
    for (NodeId id = 0; id < size(); ++id) deal_backward(id);
    join();
    for (NodeId id = size() - 1; id >= 0; --id) deal_state(id);
    for (int pass = 0; pass < 2; ++pass) {  // a slot may be read before the node that names it has
                                            // a part
      for (NodeId id = 0; id < size(); ++id) deal_rest(id);
    }
  }

  int of_node(NodeId id) const { return of_node_[static_cast<std::size_t>(id)]; }
  const std::vector<int>& of_nodes() const { return of_node_; }
  const std::vector<int>& of_variables() const { return of_variable_; }

  /// Costs of replica 0's nodes, by part. Units: multiply-adds.
  std::vector<std::int64_t> costs() const {
    std::vector<std::int64_t> all(static_cast<std::size_t>(count_));
    for (NodeId id = 0; id < size(); ++id) {
      const Node& node = graph_.node(id);
      if (of_node(id) == kNoPart || node.place.replica != 0 || !computes(node)) continue;
      all[static_cast<std::size_t>(of_node(id))] += cost(graph_, id);
    }
    return all;
  }

 private:
  NodeId size() const { return static_cast<NodeId>(graph_.nodes().size()); }
  int& part(NodeId id) { return of_node_[static_cast<std::size_t>(id)]; }
  static bool computes(const Node& node) {
    return node.phase == Phase::Forward || node.phase == Phase::Backward;
  }

  /// Forward nodes that depend on the batch define the parts.
  void deal_forward(NodeId id) {
    const Node& node = graph_.node(id);
    const auto depends = [&](Value v) { return of_batch_[static_cast<std::size_t>(v.node)]; };
    const bool of_batch =
        node.phase == Phase::Input || std::any_of(node.inputs.begin(), node.inputs.end(), depends);
    of_batch_[static_cast<std::size_t>(id)] = of_batch;
    if (!of_batch || pass_of(graph_, node) != Phase::Forward) return;
    if (is_collective(node.op)) {
      part(id) = of_node(node.inputs[0].node);
      return;
    }
    const auto [entry, is_new] = numbers_.try_emplace({node.layer, node.op}, count_);
    if (is_new) ++count_;
    part(id) = entry->second;
  }

  void deal_backward(NodeId id) {
    const Node& node = graph_.node(id);
    if (pass_of(graph_, node) != Phase::Backward || !of_batch_[static_cast<std::size_t>(id)])
      return;
    if (is_collective(node.op)) part(id) = of_node(node.inputs[0].node);
    if (part(id) != kNoPart) return;
    const auto found = numbers_.find({node.layer, forward_of(node.op)});
    if (found != numbers_.end()) {
      part(id) = found->second;
      return;
    }
    for (Value input : node.inputs) {  // a sum or a cast of gradients
      if (pass_of(graph_, graph_.node(input.node)) != Phase::Backward) continue;
      const int other = of_node(input.node);
      part(id) = part(id) == kNoPart ? other : std::min(part(id), other);
    }
    check(part(id) != kNoPart, "a backward node belongs to a part of the model");
  }

  /// If an earlier part needs a result of a later one, joins the two and all parts between them;
  /// renumbers the rest.
  void join() {
    std::vector<int> last(static_cast<std::size_t>(count_));  // last part joined with each
    std::iota(last.begin(), last.end(), 0);
    for (NodeId id = 0; id < size(); ++id) {
      if (of_node(id) == kNoPart) continue;
      const bool backward = pass_of(graph_, graph_.node(id)) == Phase::Backward;
      for (Value input : graph_.node(id).inputs) {
        if (of_node(input.node) == kNoPart) continue;
        if (backward && pass_of(graph_, graph_.node(input.node)) != Phase::Backward) continue;
        const auto [from, to] = backward ? std::pair(of_node(id), of_node(input.node))
                                         : std::pair(of_node(input.node), of_node(id));
        if (from <= to) continue;
        int& end = last[static_cast<std::size_t>(to)];
        end = std::max(end, from);
      }
    }
    std::vector<int> number(last.size());
    int joined = -1, until = -1;
    for (int old = 0; old < count_; ++old) {
      if (old > until) ++joined;
      until = std::max(until, last[static_cast<std::size_t>(old)]);
      number[static_cast<std::size_t>(old)] = joined;
    }
    count_ = joined + 1;
    for (int& each : of_node_) {
      if (each != kNoPart) each = number[static_cast<std::size_t>(each)];
    }
  }

  /// Assigns nodes that do not depend on the batch (mostly reads of variables) to the part that
  /// uses them first, and variables to the nodes that name them. Called from the last node to the
  /// first.
  void deal_state(NodeId id) {
    const Node& node = graph_.node(id);
    if (computes(node) && part(id) != kNoPart) {
      for (Value input : node.inputs) {
        if (!of_batch_[static_cast<std::size_t>(input.node)]) part(input.node) = part(id);
      }
    }
    for (VariableId v : node.variables) {
      if (part(id) != kNoPart) of_variable_[static_cast<std::size_t>(v)] = part(id);
    }
  }

  /// Assigns exchanges to the part of their gradient, and updates to that of their first variable
  /// or, if it has none yet, of their inputs; other variables follow the update.
  void deal_rest(NodeId id) {
    const Node& node = graph_.node(id);
    if (part(id) == kNoPart && node.phase != Phase::Input) {
      if (!node.variables.empty()) {
        part(id) = of_variable_[static_cast<std::size_t>(node.variables[0])];
      }
      for (Value input : node.inputs) {
        if (part(id) == kNoPart) part(id) = of_node(input.node);
      }
    }
    for (VariableId v : node.variables) {
      int& variable = of_variable_[static_cast<std::size_t>(v)];
      if (variable == kNoPart) variable = part(id);
    }
  }

  const Graph& graph_;
  std::vector<int> of_node_;
  std::vector<int> of_variable_;
  std::vector<bool> of_batch_;  ///< by node: whether it depends on the batch
  std::map<std::pair<std::string, Op>, int> numbers_;
  int count_ = 0;
};

/// Returns the stage of each cost if stages are filled in turn up to `limit`; the last may be
/// `stages` or more.
std::vector<int> fill(const std::vector<std::int64_t>& costs, std::int64_t stages,
                      std::int64_t limit) {
  std::vector<int> stage_of;
  std::int64_t used = 0;
  int stage = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const auto parts_left = static_cast<std::int64_t>(costs.size() - i);
    const bool must_open = parts_left == stages - 1 - stage && used > 0;  // no stage stays empty
    if (used > 0 && (used + costs[i] > limit || must_open)) {
      ++stage;
      used = 0;
    }
    used += std::max<std::int64_t>(costs[i], 1);
    stage_of.push_back(stage);
  }
  return stage_of;
}

bool fills_all(const std::vector<int>& chunk_of, std::int64_t chunks) {
  for (std::size_t i = 1; i < chunk_of.size(); ++i) {
    if (chunk_of[i] > chunk_of[i - 1] + 1) return false;
  }
  return chunk_of.front() == 0 && chunk_of.back() == chunks - 1;
}

/// The cost of the most expensive stage.
std::int64_t dearest(const std::vector<std::int64_t>& costs, const std::vector<int>& chunk_of,
                     std::int64_t stages) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(stages));
  for (std::size_t i = 0; i < costs.size(); ++i) {
    sums[static_cast<std::size_t>(chunk_of[i] % stages)] += costs[i];
  }
  return *std::max_element(sums.begin(), sums.end());
}

/// Throws: RunError(Usage).
void require_parts(const std::vector<std::int64_t>& given, std::int64_t stages, std::size_t parts,
                   std::string_view what) {
  std::int64_t missing = static_cast<std::int64_t>(parts);
  for (const std::int64_t count : given) missing -= std::min(count, missing + 1);
  if (missing == 0 && std::ssize(given) == stages) return;
  throw RunError(ErrorKind::Usage, std::string(what) + ": " + kStageParts.flag() + " takes " +
                                       std::to_string(stages) + " numbers with a sum of " +
                                       std::to_string(parts) + ", the parts of this model");
}

std::vector<int> stage_of_each(const std::vector<std::int64_t>& given) {
  std::vector<int> stage_of;
  for (std::size_t stage = 0; stage < given.size(); ++stage) {
    stage_of.insert(stage_of.end(), static_cast<std::size_t>(given[stage]),
                    static_cast<int>(stage));
  }
  return stage_of;
}

}  // namespace

/// Finds the smallest limit that fits into `parts`, by bisection.
std::vector<int> deal_in_order(const std::vector<std::int64_t>& costs, std::int64_t parts) {
  std::int64_t low = 0;
  std::int64_t high = 1;
  for (const std::int64_t cost : costs) high += cost + 1;
  while (low + 1 < high) {
    const std::int64_t middle = low + (high - low) / 2;
    const std::vector<int> part_of = fill(costs, parts, middle);
    (part_of.back() < parts ? high : low) = middle;
  }
  return fill(costs, parts, high);
}

std::vector<int> deal_in_turn(const std::vector<std::int64_t>& costs, std::int64_t stages,
                              std::int64_t chunks) {
  std::vector<int> best = deal_in_order(costs, stages * chunks);
  std::int64_t least = dearest(costs, best, stages);
  const auto try_it = [&](const std::vector<int>& other) {
    if (!fills_all(other, stages * chunks) || dearest(costs, other, stages) >= least) return false;
    best = other;
    least = dearest(costs, best, stages);
    return true;
  };
  for (bool is_better = chunks > 1; is_better;) {
    is_better = false;
    for (std::size_t i = 1; i < best.size(); ++i) {
      std::vector<int> longer = best, shorter = best;  // moves one cost across the border
      longer[i] = best[i - 1];
      shorter[i - 1] = best[i];
      if (best[i] != best[i - 1] && (try_it(longer) || try_it(shorter))) is_better = true;
    }
  }
  return best;
}

Phase pass_of(const Graph& graph, const Node& node) {
  if (node.attributes.has("again")) return Phase::Backward;
  return is_collective(node.op) ? graph.node(node.inputs[0].node).phase : node.phase;
}

Stages divide_model(const Graph& graph, const Division& division, std::string_view what) {
  const std::int64_t stages = division.stages * division.chunks;
  if (std::any_of(graph.nodes().begin(), graph.nodes().end(),
                  [](const Node& node) { return node.place.stage != 0; })) {
    throw RunError(ErrorKind::Usage, std::string(what) +
                                         ": the step has stages already; fix: leave one of the "
                                         "strategies that make stages out");
  }
  const Parts parts(graph);
  const std::vector<std::int64_t> costs = parts.costs();
  const std::string most = std::to_string(costs.size());
  if (stages < 1 || stages > static_cast<std::int64_t>(costs.size())) {
    throw RunError(ErrorKind::Usage, std::string(what) + ": this model has " + most +
                                         " parts, so 1 to " + most + " stages are possible");
  }
  if (!division.parts.empty()) require_parts(division.parts, stages, costs.size(), what);
  const std::vector<int> dealt = division.parts.empty()
                                     ? deal_in_turn(costs, division.stages, division.chunks)
                                     : stage_of_each(division.parts);
  const auto stages_of = [&](std::vector<int> all) {
    for (int& each : all) each = each == kNoPart ? 0 : dealt[static_cast<std::size_t>(each)];
    return all;
  };
  return {.of_node = stages_of(parts.of_nodes()), .of_variable = stages_of(parts.of_variables())};
}

}  // namespace regatta::strategies
