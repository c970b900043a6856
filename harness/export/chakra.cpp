// SPDX-License-Identifier: Apache-2.0
#include "harness/export/chakra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "harness/export/chakra_node.h"
#include "kernels/base/error.h"
#include "kernels/distribute/partition.h"
#include "kernels/graph/period.h"
#include "kernels/runtime/plan.h"

namespace regatta::exports {
namespace {

constexpr std::int64_t kMostNodes = 1'000'000;  // of all processes over the steps of a trace

using chakra::Groups;
using chakra::Id;

/// The nodes that must end before something begins: the last of each lane, and sends.
class Awaited {
 public:
  void add_node(int lane, Id id) {
    Id& last = last_[lane];
    last = std::max(last, id);
  }
  void add_send(Id id) { sends_.insert(id); }
  void add(const Awaited& other) {
    for (const auto& [lane, id] : other.last_) add_node(lane, id);
    sends_.insert(other.sends_.begin(), other.sends_.end());
  }
  std::vector<Id> without(const std::set<Id>& others) const {
    std::set<Id> ids = sends_;
    for (const auto& [lane, id] : last_) ids.insert(id);
    for (const Id other : others) ids.erase(other);
    return {ids.begin(), ids.end()};
  }

 private:
  std::map<int, Id> last_;
  std::set<Id> sends_;
};

class Tracer {
 public:
  /// `times`: by node, or empty. `messages`: of a step, over all processes.
  Tracer(const Step& part, std::span<const double> times, std::int64_t messages, Groups& groups)
      : process_(part.partition.process),
        graph_(part.graph),
        times_(times),
        messages_(messages),
        groups_(groups),
        plan_(part, {}),
        behind_(plan_.lanes().size()),
        spent_ns_(plan_.lanes().size()),
        passed_(graph_.nodes().size()),
        made_(graph_.nodes().size()) {}

  std::string trace(std::int64_t steps) {
    text_ = chakra::metadata_bytes();
    for (step_ = 0; step_ < steps; ++step_) {
      begin_step();
      for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
        if (plan_.lane_of(id) >= 0) pass(id);
      }
    }
    return std::move(text_);
  }

 private:
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  const LanePlan& planned(int lane) const { return plan_.lanes()[at(lane)]; }

  /// Starts a step after everything that the loop's lanes did in the step before.
  void begin_step() {
    std::map<int, Awaited> by_loop;
    for (std::size_t lane = 0; lane < behind_.size(); ++lane) {
      by_loop[plan_.lanes()[lane].loop].add(behind_[lane]);
    }
    for (std::size_t lane = 0; lane < behind_.size(); ++lane) {
      behind_[lane] = by_loop[plan_.lanes()[lane].loop];
    }
    made_.assign(made_.size(), 0);
  }

  /// Advances the node's lane past the node.
  void pass(NodeId id) {
    const Node& node = graph_.node(id);
    const int lane = plan_.lane_of(id);
    Awaited& behind = behind_[at(lane)];
    if (period_of(node).is_due(step_)) {
      for (const Dependency& wait : planned(lane).instructions[at(plan_.index_of(id))].waits) {
        behind.add(passed_[at(planned(wait.lane).instructions[at(wait.index)].node)]);
      }
      if (node.op == Op::Sent) {
        for (const std::int64_t m : node.attributes.integers("messages")) {
          behind.add_send(sends_.at(m));
        }
      } else {
        write(id, behind);
        if (node.op == Op::Send && !is_of_server(node)) {  // the lane goes on during the send
          sends_[node.attributes.integer("message")] = last_id_;
        } else {
          behind = {};
          behind.add_node(lane, last_id_);
        }
      }
    }
    passed_[at(id)] = behind;
  }

  void write(NodeId id, const Awaited& behind) {
    std::set<Id> makers;
    for (const Value input : graph_.node(id).inputs) {
      const Id maker = made_[at(what_is_viewed(graph_, input).node)];
      if (maker > 0) makers.insert(maker);
    }
    made_[at(id)] = ++last_id_;
    text_ += chakra::node_bytes(graph_, id,
                                {.id = last_id_,
                                 .ctrl_deps = behind.without(makers),
                                 .data_deps = {makers.begin(), makers.end()},
                                 .duration_micros = spend(id),
                                 .process = process_,
                                 .first_tag = step_ * messages_},
                                groups_);
  }

  /// Returns the node's time in whole microseconds. Only the sum of the lane is rounded, so the
  /// times add up to it.
  std::optional<std::int64_t> spend(NodeId id) {
    constexpr double kNsPerMicro = 1000;
    if (times_.empty()) return std::nullopt;
    double& spent = spent_ns_[at(plan_.lane_of(id))];
    const std::int64_t before = std::llround(spent / kNsPerMicro);
    spent += times_[at(id)];
    return std::llround(spent / kNsPerMicro) - before;
  }

  std::int64_t process_;
  const Graph& graph_;
  std::span<const double> times_;
  std::int64_t messages_;
  Groups& groups_;
  const Plan plan_;
  std::string text_;
  std::int64_t step_ = 0;
  Id last_id_ = 0;
  std::vector<Awaited> behind_;       ///< by lane: predecessors of its next node
  std::vector<double> spent_ns_;      ///< by lane
  std::vector<Awaited> passed_;       ///< by node: the lane's predecessors after it
  std::vector<Id> made_;              ///< by node, in this step; 0: not in it
  std::map<std::int64_t, Id> sends_;  ///< by message, the last one
};

/// Throws: RunError(Unsupported).
void require_traceable(std::span<const Step> parts) {
  std::set<Place> all;
  std::size_t most = 0;
  for (const Step& part : parts) {
    std::set<Place> workers;
    for (const Node& node : part.graph.nodes()) {
      if (node.op == Op::Quorum) {
        throw RunError(ErrorKind::Unsupported,
                       "--format chakra: no trace waits for the first of several workers, as "
                       "backup workers want it");
      }
      if (node.place.role == Role::Worker) workers.insert(node.place);
    }
    for (const Variable& variable : part.graph.variables()) {
      if (variable.sharing == Sharing::None || variable.place.role != Role::Worker) continue;
      throw RunError(ErrorKind::Unsupported,
                     "--format chakra: a trace is of one worker alone, and these reach into one "
                     "another's parameters at any time");
    }
    most = std::max(most, workers.size());
    all.insert(workers.begin(), workers.end());
  }
  if (most <= 1) return;
  throw RunError(ErrorKind::Unsupported,
                 fmt::format("--format chakra: a trace is of one worker, and here a process has "
                             "{}; fix: give --processes {}",
                             most, all.size()));
}

/// Throws: RunError(Unsupported) for nodes that begin to take part at a later step, and for more
/// nodes than kMostNodes.
void require_bounded(std::span<const Step> parts, std::int64_t steps, std::int64_t messages) {
  std::int64_t nodes = 0;
  for (const Step& part : parts) {
    nodes += std::ssize(part.graph.nodes());
    for (const Node& node : part.graph.nodes()) {
      if (period_of(node).from == 0) continue;
      throw RunError(ErrorKind::Unsupported,
                     "--format chakra: exchanges that begin to be rare at some step are missing; "
                     "fix: leave --sync-from out");
    }
  }
  if (nodes * steps <= kMostNodes && messages * steps <= kMostNodes) return;
  throw RunError(ErrorKind::Unsupported,
                 fmt::format("--format chakra: {} steps of {} nodes are more than {}; fix: a "
                             "smaller --sync-every, or fewer workers",
                             steps, nodes, kMostNodes));
}

}  // namespace

std::vector<ExportedFile> chakra_traces(std::span<const Step> parts, const NodeTimes& times) {
  require_traceable(parts);
  std::int64_t steps = 1, messages = 0;
  for (const Step& part : parts) {
    steps = std::max(steps, steps_with_all_nodes(part.graph));
    for (const Node& node : part.graph.nodes()) {
      if (node.op != Op::Send) continue;
      messages = std::max(messages, node.attributes.integer("message") + 1);
    }
  }
  require_bounded(parts, steps, messages);
  Groups groups(parts.size());
  std::vector<ExportedFile> files;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::span<const double> own = times.empty() ? std::span<const double>() : times[p];
    files.push_back({.path = fmt::format("chakra.{}.et", p),
                     .text = Tracer(parts[p], own, messages, groups).trace(steps)});
  }
  if (const std::string json = groups.to_json(); !json.empty()) {
    files.push_back({.path = "comm_groups.json", .text = json});
  }
  return files;
}

}  // namespace regatta::exports
