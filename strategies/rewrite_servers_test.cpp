// SPDX-License-Identifier: Apache-2.0
//
// Strategies with parameter servers as rewrites: which server holds which parameters, which values
// travel, and which nodes backup workers add. A small graph in, text or counts out.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "kernels/base/error.h"
#include "kernels/distribute/partition.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/expiry.h"
#include "kernels/graph/text.h"
#include "strategies/rewritten_for_test.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

TEST(ParameterServer, PullsAndPushesEveryParameterOnceAWorker) {
  StrategyOptions options = replicas(3);
  options.given["servers"] = 2;
  const auto bytes = traffic(part(rewritten("parameter_server", options)));
  std::int64_t from_servers = 0;
  for (int server : {0, 1}) {
    const MemberTraffic& one = bytes.at({.replica = 0, .stage = server, .role = Role::Server});
    EXPECT_EQ(one.sent, one.received);
    EXPECT_GT(one.sent, 0);
    from_servers += one.sent;
  }
  EXPECT_EQ(from_servers, 3 * kParabolaBytes);
  EXPECT_EQ(bytes.at(kWorker1).sent, kParabolaBytes);
}

/// Bytes that servers send and receive in a step of resnet9_thin with two workers.
MemberTraffic traffic_of_servers(const std::string& strategy, int servers, const Step& step) {
  StrategyOptions options = replicas(2);
  options.given["servers"] = servers;
  MemberTraffic sum;
  for (const auto& [place, one] : traffic(part(apply(find_strategies(strategy), step, options)))) {
    if (place.role == Role::Server) sum += one;
  }
  return sum;
}

Step thin(ElementType element) {
  workloads::Recipe recipe;
  recipe.global_batch = 64;
  recipe.train_examples = 512;
  recipe.total_examples = 1024;
  recipe.element = element;
  return workloads::find_workload("resnet9_thin").training(recipe);
}

TEST(ParameterServer, SendsWeightsAsBf16WhereTheyAreReadAsThat) {
  const Step step = thin(ElementType::BF16);
  std::int64_t spared = 0;  // half of each weight that is cast
  for (const Node& node : step.graph.nodes()) {
    const bool reads = node.op == Op::Cast && step.graph.node(node.inputs[0].node).op == Op::Read;
    if (reads) spared += node.outputs[0].bytes();
  }
  EXPECT_GT(spared, 0);
  for (const char* strategy : {"parameter_server", "parameter_server_async"}) {
    for (int servers : {1, 2}) {
      const auto wide = traffic_of_servers(strategy, servers, thin(ElementType::F32));
      const auto narrow = traffic_of_servers(strategy, servers, step);
      EXPECT_EQ(narrow.sent, wide.sent - 2 * spared) << strategy << ' ' << servers;
      EXPECT_EQ(narrow.received, wide.received) << strategy << ' ' << servers;  // gradients
    }
  }
}

/// Rows of a parameter by server, as `name[begin:end]@server`.
std::string shards_of(const Step& step, const std::string& whole) {
  std::string text;
  for (const Variable& variable : step.graph.variables()) {
    if (variable.kind != VariableKind::Parameter || variable.whole_name() != whole) continue;
    text += variable.name + '@' + std::to_string(variable.place.stage) + ' ';
  }
  return text;
}

TEST(ParameterServer, DealsBytesEvenlyAndCutsLargeParametersBetweenRows) {
  workloads::Recipe recipe;
  recipe.global_batch = 128;
  recipe.train_examples = 512;
  recipe.total_examples = 1024;
  const Step step = workloads::find_workload("resnet9").training(recipe);
  StrategyOptions options = replicas(2);
  options.given["servers"] = 3;
  const Step placed = apply(find_strategies("parameter_server"), step, options);
  std::map<int, std::int64_t> bytes;
  std::int64_t all = 0;
  for (const Variable& variable : placed.graph.variables()) {
    if (variable.kind != VariableKind::Parameter) continue;
    bytes[variable.place.stage] += variable.type.bytes();
    all += variable.type.bytes();
  }
  for (int server : {0, 1, 2}) EXPECT_NEAR(bytes[server] * 3.0 / all, 1, 0.01) << server;
  EXPECT_EQ(shards_of(placed, "prep.weight"), "prep.weight@0 ");
  EXPECT_GT(placed.trainables.size(), step.trainables.size());
}

TEST(ParameterServer, RefusesAServerThatWouldHoldNothing) {
  StrategyOptions options = replicas(2);
  options.given["servers"] = 7;  // for 64 bytes in four parameters
  EXPECT_THROW(rewritten("parameter_server", options), RunError);
  options.given["servers"] = 3;
  EXPECT_NO_THROW(rewritten("parameter_server", options));
}

TEST(ParameterServerAsync, IsALoopAWorker) {
  StrategyOptions options = replicas(3);
  options.given["servers"] = 2;
  EXPECT_EQ(loop_count(rewritten("parameter_server_async", options)), 3U);
  EXPECT_EQ(loop_count(rewritten("parameter_server", options)), 1U);
}

/// Once a rate is zero for good, its gradients are no longer computed, even if they travel.
TEST(ParameterServer, BackwardRestsInEveryProcessWhenItsParameterHasLearnt) {
  workloads::Recipe recipe;
  recipe.global_batch = 256;
  recipe.train_examples = 512;
  recipe.total_examples = 20 * 256;
  const Step step = workloads::find_workload("airbench94").training(recipe);
  const Binding binding{.processes = 3, .process_of = [](const Place& place) {
                          return place.role == Role::Server ? 0 : 1 + place.replica;
                        }};
  const auto resting = [](const Step& part) {
    return std::count_if(part.graph.nodes().begin(), part.graph.nodes().end(),
                         [](const Node& node) { return node.attributes.has("until"); });
  };
  const auto parts =
      partitioned(apply(find_strategies("parameter_server"), step, replicas(2)), binding);
  const Step together = partitioned(step, Binding{}).front();
  const auto updates = std::count_if(
      together.graph.nodes().begin(), together.graph.nodes().end(),
      [](const Node& node) { return node.op == Op::Sgd && node.attributes.has("until"); });
  EXPECT_GT(updates, 0);
  EXPECT_EQ(resting(parts[1]), resting(together) - updates);  // its updates are the server's
}

TEST(ParameterServer, TravelsInOneMessageEachWayWhereItIsSmall) {
  const Binding binding{.processes = 3, .process_of = [](const Place& place) {
                          return place.role == Role::Server ? 0 : 1 + place.replica;
                        }};
  for (const char* name : {"parameter_server", "parameter_server_async"}) {
    const auto parts = partitioned(rewritten(name, replicas(2)), binding);
    EXPECT_EQ(count(parts[0].graph, Op::Send), 2) << name;
    EXPECT_EQ(count(parts[0].graph, Op::Receive), 2) << name;
    EXPECT_EQ(count(parts[1].graph, Op::Receive), 1) << name;
    EXPECT_EQ(parts[1].partition.parts.size(), 1U) << name;
    EXPECT_EQ(parts[1].partition.parts[0].processes.front(), 0) << name;
  }
}

/// Each receive of a push has the previous ones as its inputs, and the updates read the last.
TEST(ParameterServer, AddsPushesUpAsTheyArriveInTheOrderOfWorkers) {
  const Binding binding{.processes = 4, .process_of = [](const Place& place) {
                          return place.role == Role::Server ? 0 : 1 + place.replica;
                        }};
  const Graph server = partitioned(rewritten("parameter_server", replicas(3)), binding)[0].graph;
  EXPECT_EQ(count(server, Op::Sum), 0);
  NodeId before = -1;
  int worker = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(server.nodes().size()); ++id) {
    const Node& node = server.node(id);
    if (node.op == Op::Sgd) {
      EXPECT_EQ(node.inputs[0].node, before);
    }
    if (node.op != Op::Receive) continue;
    EXPECT_EQ(sender_of(node).replica, worker++);
    EXPECT_EQ(node.inputs.size(), before < 0 ? 0U : node.outputs.size());
    for (Value input : node.inputs) EXPECT_EQ(input.node, before);
    before = id;
  }
  EXPECT_EQ(worker, 3);
}

/// Two of three workers count; a step applies 30 examples and draws 45. Two servers.
Step with_a_backup_worker(std::int64_t batch) {
  workloads::Recipe recipe;
  recipe.global_batch = batch;
  recipe.train_examples = 50;
  recipe.total_examples = 3000;
  StrategyOptions options = replicas(2);
  options.given["backup_workers"] = 1;
  options.given["servers"] = 2;
  return apply(find_strategies("parameter_server"),
               workloads::find_workload("parabola").training(recipe), options);
}

TEST(BackupWorkers, StandBetweenPushesAndUpdatesAndTheFirstServerTellsTheOthers) {
  const Step step = with_a_backup_worker(30);
  EXPECT_EQ(loop_count(step), 3U);
  EXPECT_EQ(count(step.graph, Op::Quorum), 3 * 2);
  EXPECT_EQ(count(step.graph, Op::Sgd), 3 * 4);
  const std::string text = to_text(step.graph);
  for (const char* line : {
           "{batch=15, element=0, example=[1], global_batch=45, offset=30, target=[1], "
           "target_element=0}",
           "= arrival(",
           "{decides=1, examples=15, hears=1, member=2, members=3, needed=2}",
           "{decides=0, examples=15, hears=1, member=2, members=3, needed=2}",
           "@server0 shared quorum",
           "weight=1, weight_decay=0} @server1.replica2 update output",
       }) {
    EXPECT_NE(text.find(line), std::string::npos) << line << '\n' << text;
  }
}

/// The deciding server also receives each other server's arrivals.
TEST(BackupWorkers, SendOneVerdictToEveryOtherServer) {
  const auto bytes = traffic(part(with_a_backup_worker(30)));
  const MemberTraffic& first = bytes.at({.replica = 2, .stage = 0, .role = Role::Server});
  const MemberTraffic& second = bytes.at({.replica = 2, .stage = 1, .role = Role::Server});
  EXPECT_EQ(first.sent, first.received);
  EXPECT_EQ(second.received, second.sent);
  EXPECT_EQ(first.received + second.sent, kParabolaBytes + 2 * 4);
}

/// 16 and 15 are a batch; the backup worker has 16 again.
TEST(BackupWorkers, HaveTheSharesOfTheFirstWorkersOnceMore) {
  const std::string text = to_text(with_a_backup_worker(31).graph);
  for (const char* line : {
           "{batch=16, element=0, example=[1], global_batch=47, offset=0, target=[1], "
           "target_element=0}",
           "{batch=15, element=0, example=[1], global_batch=47, offset=16, target=[1], "
           "target_element=0}",
           "{batch=16, element=0, example=[1], global_batch=47, offset=31, target=[1], "
           "target_element=0}",
           "{decides=1, examples=15, hears=1, member=1, members=3, needed=2}",
           "{decides=0, examples=16, hears=1, member=2, members=3, needed=2}",
       }) {
    EXPECT_NE(text.find(line), std::string::npos) << line << '\n' << text;
  }
}

/// The servers decide even when some parameters have stopped learning.
TEST(BackupWorkers, NeverRestAtTheQuorum) {
  workloads::Recipe recipe;
  recipe.global_batch = 256;
  recipe.train_examples = 512;
  recipe.total_examples = 20 * 256;
  StrategyOptions options = replicas(2);
  options.given["backup_workers"] = 1;
  const Step step = apply(find_strategies("parameter_server"),
                          workloads::find_workload("airbench94").training(recipe), options);
  std::int64_t resting_updates = 0;
  const std::vector<std::int64_t> expiry = expiries(step);
  for (std::size_t id = 0; id < expiry.size(); ++id) {
    const Op op = step.graph.nodes()[id].op;
    EXPECT_TRUE(op != Op::Quorum || expiry[id] == kNeverExpires);
    resting_updates += op == Op::Sgd && expiry[id] != kNeverExpires ? 1 : 0;
  }
  EXPECT_GT(resting_updates, 0);
}

}  // namespace
}  // namespace regatta::strategies
