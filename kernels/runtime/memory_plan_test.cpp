// SPDX-License-Identifier: Apache-2.0
//
// Tests that two values share bytes only if the plan's waits order all uses of one before the other
// is made. The instructions known to have run before each one are computed the slow way, as a set.
#include "kernels/runtime/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kernels/runtime/guard/loss_evidence.h"
#include "strategies/chain_for_test.h"
#include "strategies/pipeline_schedule.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using testing_support::chain;

/// For each node, the nodes that have run when it begins.
std::vector<std::vector<bool>> known(const Graph& graph, const Plan& plan) {
  const std::size_t size = graph.nodes().size();
  std::vector<std::vector<bool>> before(size, std::vector<bool>(size));
  const auto learn = [&](NodeId id, NodeId other) {
    std::vector<bool>& knows = before[static_cast<std::size_t>(id)];
    const std::vector<bool> old = knows;
    knows[static_cast<std::size_t>(other)] = true;
    const std::vector<bool>& told = before[static_cast<std::size_t>(other)];
    std::transform(knows.begin(), knows.end(), told.begin(), knows.begin(), std::logical_or<>());
    return knows != old;
  };
  bool changes = true;
  while (changes) {
    changes = false;
    for (const LanePlan& lane : plan.lanes()) {
      for (std::size_t i = 0; i < lane.instructions.size(); ++i) {
        const Instruction& each = lane.instructions[i];
        if (i > 0) changes |= learn(each.node, lane.instructions[i - 1].node);
        for (const Dependency& wait : each.waits) {
          const LanePlan& other = plan.lanes()[static_cast<std::size_t>(wait.lane)];
          changes |=
              learn(each.node, other.instructions[static_cast<std::size_t>(wait.index)].node);
        }
      }
    }
  }
  return before;
}

/// The nodes that make a value that owns memory, read it or add to it. All_gathers only wait for
/// most of their inputs.
std::map<Value, std::set<NodeId>> users(const Graph& graph, const Plan& plan) {
  std::map<Value, std::set<NodeId>> all;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (plan.lane_of(id) < 0) continue;
    std::vector<Value> values;
    for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) values.push_back({id, i});
    if (node.op != Op::AllGather) {
      values.insert(values.end(), node.inputs.begin(), node.inputs.end());
    }
    for (const Value value : values) {
      if (plan.storage(value).variable < 0) all[plan.storage(value).owner].insert(id);
    }
  }
  for (const Value loss : plan.looked_at()) {
    for (const Value value : evidence_of(graph, plan, loss)) all[value].insert(loss.node);
  }
  return all;
}

/// Returns the number of pairs of values that share bytes.
int check_sharing(const Step& part, const PlanOptions& options) {
  const Graph& graph = part.graph;
  const Plan plan(part, options);
  const MemoryPlan memory = plan_memory(graph, plan);
  const auto before = known(graph, plan);
  const auto all = users(graph, plan);
  const auto follows = [&](Value later, const std::set<NodeId>& uses) {
    const auto& knows = before[static_cast<std::size_t>(later.node)];
    return std::all_of(uses.begin(), uses.end(),
                       [&](NodeId id) { return knows[static_cast<std::size_t>(id)]; });
  };
  int shared = 0;
  for (auto a = all.begin(); a != all.end(); ++a) {
    for (auto b = std::next(a); b != all.end(); ++b) {
      const auto &x = memory.addresses.at(a->first), &y = memory.addresses.at(b->first);
      if (x.lane != y.lane || x.offset + graph.type(a->first).bytes() <= y.offset ||
          y.offset + graph.type(b->first).bytes() <= x.offset) {
        continue;
      }
      ++shared;
      EXPECT_TRUE(follows(a->first, b->second) || follows(b->first, a->second))
          << to_string(graph.node(a->first.node).op) << " %" << a->first.node << " and "
          << to_string(graph.node(b->first.node).op) << " %" << b->first.node << " at "
          << to_string(graph.node(a->first.node).place);
    }
  }
  return shared;
}

struct Case {
  std::string strategy;
  std::string_view schedule = {};
  bool processes = false;  ///< one for each replica and stage
  std::int64_t microbatches = 1;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const bool processes : {false, true}) {
    for (const char* strategy : {"in_graph", "central_storage", "all_reduce", "sharded", "gossip",
                                 "diloco", "all_reduce+model_parallel"}) {
      all.push_back({.strategy = strategy, .processes = processes});
    }
    for (const char* strategy : {"in_graph", "all_reduce"}) {
      all.push_back({.strategy = strategy, .processes = processes, .microbatches = 6});
    }
    for (const std::string_view schedule : strategies::kSchedules) {
      all.push_back({.strategy = "all_reduce+pipeline",
                     .schedule = schedule,
                     .processes = processes,
                     .microbatches = 6});
    }
  }
  return all;
}

TEST(MemoryPlan, SharesBytesOnlyWhereTheWaitsOrderAllUses) {
  for (const Case& test : cases()) {
    SCOPED_TRACE(test.strategy + ' ' + std::string(test.schedule) +
                 (test.processes ? " over processes" : ""));
    const bool staged = test.strategy.find('+') != std::string::npos;
    strategies::StrategyOptions options;
    options.replicas = 2;
    options.stages = staged ? 3 : 1;
    options.given = {{"microbatches", test.microbatches}};
    if (!test.schedule.empty()) options.given["schedule"] = std::string(test.schedule);
    const Step step = strategies::apply(strategies::find_strategies(test.strategy),
                                        chain(512, 2 * 6 * 64), options);
    Binding binding;
    if (test.processes) {
      binding = {.processes = 6, .process_of = [staged](const Place& place) {
                   return place.replica * (staged ? 3 : 1) + place.stage;
                 }};
    }
    int shared = 0;
    for (const Step& part : strategies::partitioned(step, binding)) {
      if (part.graph.nodes().empty()) continue;
      for (const std::int64_t inline_bytes : {std::int64_t{0}, kInlineBytes}) {
        shared += check_sharing(part, {.inline_bytes = inline_bytes});
      }
    }
    EXPECT_GT(shared, 0);
  }
}

}  // namespace
}  // namespace regatta
