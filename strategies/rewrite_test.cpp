// SPDX-License-Identifier: Apache-2.0
//
// Strategies as what they are: a small graph in, text or counts out. No kernels, no threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "kernels/graph/error.h"
#include "kernels/graph/expiry.h"
#include "kernels/graph/loops.h"
#include "kernels/graph/partition.h"
#include "kernels/graph/text.h"
#include "kernels/graph/traffic.h"
#include "strategies/strategy.h"
#include "workloads/workload.h"

namespace regatta {
namespace {

constexpr std::int64_t kParabolaBytes = (5 + 5 + 5 + 1) * 4;  // two weights, two biases
constexpr std::int64_t kParabolaInputBytes = 50 * 2 * 4;

Step parabola() {
  Recipe recipe;
  recipe.global_batch = 50;
  recipe.train_examples = 50;
  recipe.total_examples = 100'000;
  return find_workload("parabola").training(recipe);
}

Step rewritten(const std::string& name, StrategyOptions options) {
  return apply(find_strategies(name), parabola(), options);
}

StrategyOptions replicas(std::int64_t n) {
  StrategyOptions options;
  options.replicas = n;
  return options;
}

Graph part(const Step& step) { return partition(step, Binding{}).front().graph; }

std::int64_t count(const Graph& graph, Op op) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                       [op](const Node& node) { return node.op == op; });
}

std::size_t loop_count(const Step& step) {
  const std::vector<int> all = loops(part(step));
  return static_cast<std::size_t>(*std::max_element(all.begin(), all.end())) + 1;
}

const Place kWorker0{};
const Place kWorker1{.replica = 1, .stage = 0, .role = Role::Worker};
const Place kHost{.replica = 0, .stage = 0, .role = Role::Host};

TEST(Single, ChangesNothing) {
  EXPECT_EQ(to_text(rewritten("single", replicas(1)).graph), to_text(parabola().graph));
}

TEST(AllReduce, PutsOneCollectiveForTheBucketBetweenGradientsAndUpdates) {
  const Graph graph = part(rewritten("all_reduce", replicas(2)));
  EXPECT_EQ(count(graph, Op::AllReduce), 2);  // one bucket, two members
  EXPECT_EQ(count(graph, Op::Sgd), 2 * 4);
  EXPECT_EQ(count(graph, Op::Copy), 0);
  const std::string text = to_text(graph);
  EXPECT_NE(text.find("{algorithm=ring, group=0, member=1, members=2} f32[1] f32[1,5] f32[5] "
                      "f32[5,1] @replica1 communication output"),
            std::string::npos)
      << text;
}

TEST(AllReduce, DealsFiftyPointsToThreeReplicasAs17_17_16) {
  std::vector<std::int64_t> batches;
  const Step step = rewritten("all_reduce", replicas(3));
  for (const Node& node : step.graph.nodes()) {
    if (node.op == Op::Input) batches.push_back(node.attributes.integer("batch"));
  }
  EXPECT_EQ(batches, (std::vector<std::int64_t>{17, 17, 16}));
}

TEST(InGraph, CopiesParametersOutAndGradientsBack) {
  const auto bytes = traffic(part(rewritten("in_graph", replicas(3))));
  // The parabola's 50 points are dealt as 17, 17, 16; replica 0 keeps its own.
  const std::int64_t input = kParabolaInputBytes * 33 / 50;
  EXPECT_EQ(bytes.at(kWorker0).sent, 2 * kParabolaBytes + input);
  EXPECT_EQ(bytes.at(kWorker0).received, 2 * kParabolaBytes);
  EXPECT_EQ(bytes.at(kWorker1).sent, kParabolaBytes);
}

TEST(CentralStorage, KeepsParametersAndUpdateOnTheHost) {
  const Graph graph = part(rewritten("central_storage", replicas(2)));
  for (const Node& node : graph.nodes()) {
    if (node.op != Op::Sgd) continue;
    EXPECT_EQ(node.place, kHost);
  }
  const auto bytes = traffic(graph);
  EXPECT_EQ(bytes.at(kHost).sent, 2 * kParabolaBytes + kParabolaInputBytes);
  EXPECT_EQ(bytes.at(kHost).received, 2 * kParabolaBytes);
  EXPECT_EQ(bytes.at(kWorker1).sent, kParabolaBytes);
}

TEST(Independent, SendsNothing) {
  EXPECT_TRUE(traffic(part(rewritten("independent", replicas(4)))).empty());
}

TEST(Loops, AreOneForSynchronousAndOneAReplicaForAsynchronousStrategies) {
  EXPECT_EQ(loop_count(rewritten("in_graph", replicas(3))), 1U);
  EXPECT_EQ(loop_count(rewritten("central_storage", replicas(3))), 1U);
  EXPECT_EQ(loop_count(rewritten("all_reduce", replicas(3))), 1U);
  EXPECT_EQ(loop_count(rewritten("async_shared", replicas(3))), 3U);
  EXPECT_EQ(loop_count(rewritten("independent", replicas(3))), 3U);
}

/// Lookahead has no input and no output: it goes with the update of its parameter.
TEST(Loops, HoldTheLookaheadOfTheirReplica) {
  Recipe recipe;
  recipe.global_batch = 256;
  recipe.train_examples = 256;
  recipe.total_examples = 2560;
  const Step step = find_workload("airbench94").training(recipe);
  for (const char* name : {"all_reduce", "in_graph"}) {
    EXPECT_EQ(loop_count(apply(find_strategies(name), step, replicas(2))), 1U) << name;
  }
  const Step placed = apply(find_strategies("async_shared"), step, replicas(2));
  EXPECT_EQ(loop_count(placed), 2U);
  EXPECT_EQ(count(placed.graph, Op::Lookahead), 2 * count(step.graph, Op::Lookahead));
}

TEST(AsyncShared, SendsNothing) {
  const Graph graph = part(rewritten("async_shared", replicas(3)));
  EXPECT_TRUE(traffic(graph).empty());
  EXPECT_EQ(count(graph, Op::Copy), 0);
}

TEST(AsyncShared, WeighsDecayByTheShareOfTheBatch) {
  const Step step = rewritten("async_shared", replicas(3));
  double sum = 0;
  for (const Node& node : step.graph.nodes()) {
    if (node.op == Op::Sgd && node.layer == "hidden") sum += node.attributes.real("weight");
  }
  EXPECT_NEAR(sum, 2.0, 1e-12);  // weight and bias, each 17/50 + 17/50 + 16/50
}

TEST(ParameterServer, PullsAndPushesEveryParameterOnceAWorker) {
  StrategyOptions options = replicas(3);
  options.servers = 2;
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

/// Bytes that servers send, and receive, in a step of resnet9_thin; two workers.
MemberTraffic traffic_of_servers(const std::string& strategy, int servers, const Step& step) {
  StrategyOptions options = replicas(2);
  options.servers = servers;
  MemberTraffic sum;
  for (const auto& [place, one] : traffic(part(apply(find_strategies(strategy), step, options)))) {
    if (place.role != Role::Server) continue;
    sum.sent += one.sent;
    sum.received += one.received;
  }
  return sum;
}

Step thin(ElementType element) {
  Recipe recipe;
  recipe.global_batch = 64;
  recipe.train_examples = 512;
  recipe.total_examples = 1024;
  recipe.element = element;
  return find_workload("resnet9_thin").training(recipe);
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
  Recipe recipe;
  recipe.global_batch = 128;
  recipe.train_examples = 512;
  recipe.total_examples = 1024;
  const Step step = find_workload("resnet9").training(recipe);
  StrategyOptions options = replicas(2);
  options.servers = 3;
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
  options.servers = 7;  // of 64 bytes in four parameters
  EXPECT_THROW(rewritten("parameter_server", options), RunError);
  options.servers = 3;
  EXPECT_NO_THROW(rewritten("parameter_server", options));
}

TEST(ParameterServerAsync, IsALoopAWorker) {
  StrategyOptions options = replicas(3);
  options.servers = 2;
  EXPECT_EQ(loop_count(rewritten("parameter_server_async", options)), 3U);
  EXPECT_EQ(loop_count(rewritten("parameter_server", options)), 1U);
}

/// Gradients of a rate that becomes zero for good are not made any more, also where they travel.
TEST(ParameterServer, BackwardRestsInEveryProcessWhenItsParameterHasLearnt) {
  Recipe recipe;
  recipe.global_batch = 256;
  recipe.train_examples = 512;
  recipe.total_examples = 20 * 256;
  const Step step = find_workload("airbench94").training(recipe);
  const Binding binding{.processes = 3, .process_of = [](const Place& place) {
                          return place.role == Role::Server ? 0 : 1 + place.replica;
                        }};
  const auto resting = [](const Step& part) {
    return std::count_if(part.partition.expiry.begin(), part.partition.expiry.end(),
                         [](std::int64_t expiry) { return expiry != kNever; });
  };
  const auto parts =
      partition(apply(find_strategies("parameter_server"), step, replicas(2)), binding);
  const Step together = partition(step, Binding{}).front();
  const auto updates = std::count_if(
      together.graph.nodes().begin(), together.graph.nodes().end(), [&](const Node& node) {
        const auto id = static_cast<std::size_t>(&node - together.graph.nodes().data());
        return node.op == Op::Sgd && together.partition.expiry[id] != kNever;
      });
  EXPECT_GT(updates, 0);
  EXPECT_EQ(resting(parts[1]), resting(together) - updates);  // its updates are the server's
}

TEST(ParameterServer, TravelsInOneMessageEachWayWhereItIsSmall) {
  const Binding binding{.processes = 3, .process_of = [](const Place& place) {
                          return place.role == Role::Server ? 0 : 1 + place.replica;
                        }};
  for (const char* name : {"parameter_server", "parameter_server_async"}) {
    const auto parts = partition(rewritten(name, replicas(2)), binding);
    EXPECT_EQ(count(parts[0].graph, Op::Send), 2) << name;
    EXPECT_EQ(count(parts[0].graph, Op::Receive), 2) << name;
    EXPECT_EQ(count(parts[1].graph, Op::Receive), 1) << name;
    EXPECT_EQ(parts[1].partition.parts.size(), 1U) << name;
    EXPECT_EQ(parts[1].partition.parts[0].processes.front(), 0) << name;
  }
}

/// Two of three workers; 30 examples are a step's, so that 45 are drawn. Two servers.
Step with_a_backup_worker(std::int64_t batch) {
  Recipe recipe;
  recipe.global_batch = batch;
  recipe.train_examples = 50;
  recipe.total_examples = 3000;
  StrategyOptions options = replicas(2);
  options.backup_workers = 1;
  options.servers = 2;
  return apply(find_strategies("parameter_server"), find_workload("parabola").training(recipe),
               options);
}

TEST(BackupWorkers, StandBetweenPushesAndUpdatesAndTheFirstServerTellsTheOthers) {
  const Step step = with_a_backup_worker(30);
  EXPECT_EQ(loop_count(step), 3U);
  EXPECT_EQ(count(step.graph, Op::Quorum), 3 * 2);
  EXPECT_EQ(count(step.graph, Op::Sgd), 3 * 4);
  const std::string text = to_text(step.graph);
  for (const char* line : {
           "{batch=15, example=[1], global_batch=45, offset=30, targets=1}",
           "{decides=1, member=2, members=3, needed=2}",
           "{decides=0, member=2, members=3, needed=2}",
           "@server0 shared quorum",
           "weight=1, weight_decay=0} @server1.replica2 update output",
       }) {
    EXPECT_NE(text.find(line), std::string::npos) << line << '\n' << text;
  }
}

TEST(BackupWorkers, SendOneVerdictToEveryOtherServer) {
  const auto bytes = traffic(part(with_a_backup_worker(30)));
  const MemberTraffic& first = bytes.at({.replica = 2, .stage = 0, .role = Role::Server});
  const MemberTraffic& second = bytes.at({.replica = 2, .stage = 1, .role = Role::Server});
  EXPECT_EQ(first.sent, first.received + 4);
  EXPECT_EQ(second.received, second.sent + 4);
  EXPECT_EQ(first.received + second.sent, kParabolaBytes);
}

TEST(BackupWorkers, NeedEqualShares) {
  try {
    with_a_backup_worker(31);
    FAIL();
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    EXPECT_NE(std::string(error.what()).find("equal shares"), std::string::npos) << error.what();
  }
}

/// They decide also when some parameters learn no more.
TEST(BackupWorkers, NeverRestAtTheQuorum) {
  Recipe recipe;
  recipe.global_batch = 256;
  recipe.train_examples = 512;
  recipe.total_examples = 20 * 256;
  StrategyOptions options = replicas(2);
  options.backup_workers = 1;
  const Step step = apply(find_strategies("parameter_server"),
                          find_workload("airbench94").training(recipe), options);
  std::int64_t resting_updates = 0;
  const std::vector<std::int64_t> expiry = expiries(step);
  for (std::size_t id = 0; id < expiry.size(); ++id) {
    const Op op = step.graph.nodes()[id].op;
    EXPECT_TRUE(op != Op::Quorum || expiry[id] == kNever);
    resting_updates += op == Op::Sgd && expiry[id] != kNever ? 1 : 0;
  }
  EXPECT_GT(resting_updates, 0);
}

TEST(ModelParallel, CutsBetweenLayersAndSendsActivationsForwardAndBack) {
  StrategyOptions options;
  options.stages = 2;
  const Graph graph = part(rewritten("model_parallel", options));
  const auto bytes = traffic(graph);
  const Place second{.replica = 0, .stage = 1, .role = Role::Worker};
  // Cut after the hidden layer: 5 activations a point, and the targets for the loss.
  EXPECT_EQ(bytes.at(kWorker0).sent, 50 * 5 * 4 + 50 * 4);
  EXPECT_EQ(bytes.at(second).sent, 50 * 5 * 4);
}

TEST(ModelParallel, RefusesMoreStagesThanLayers) {
  StrategyOptions options;
  options.stages = 4;
  EXPECT_THROW(rewritten("model_parallel", options), RunError);
}

TEST(Composition, StagesOfAllReducedReplicasExchangeTheirOwnGradients) {
  StrategyOptions options = replicas(2);
  options.stages = 2;
  const Graph graph = part(rewritten("all_reduce+model_parallel", options));
  EXPECT_EQ(count(graph, Op::AllReduce), 2 * 2);  // a bucket a stage, two members each
  const Graph other = part(rewritten("model_parallel+all_reduce", options));
  EXPECT_EQ(count(other, Op::AllReduce), 2 * 2);
  EXPECT_EQ(bytes_per_step(graph), bytes_per_step(other));
}

TEST(Composition, OfTwoThatDealTheBatchOutIsRefusedByName) {
  try {
    rewritten("all_reduce+in_graph", replicas(2));
    FAIL();
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("strategy 'in_graph' cannot be applied"),
              std::string::npos);
  }
}

TEST(Strategies, MoreWorkersThanExamplesAreRefused) {
  EXPECT_THROW(rewritten("all_reduce", replicas(51)), RunError);
  EXPECT_THROW(rewritten("in_graph", replicas(0)), RunError);
  EXPECT_NO_THROW(rewritten("all_reduce", replicas(50)));
}

TEST(Strategies, AnUnknownNameOffersTheNearest) {
  try {
    find_strategies("al_reduce");
    FAIL();
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'all_reduce'?"), std::string::npos);
  }
}

TEST(GraphSize, GrowsWithWorkersInGraphAndNotPerProcessBetweenGraphs) {
  const auto in_graph = [](std::int64_t n) {
    return part(rewritten("in_graph", replicas(n))).nodes().size();
  };
  EXPECT_GT(in_graph(4), 2 * in_graph(2) - 30);
  const auto largest_part = [](std::int64_t n) {
    const Binding binding{.processes = static_cast<int>(n),
                          .process_of = [](const Place& place) { return place.replica; }};
    std::size_t largest = 0;
    for (const Step& part : partition(rewritten("all_reduce", replicas(n)), binding)) {
      largest = std::max(largest, part.graph.nodes().size());
    }
    return largest;
  };
  EXPECT_EQ(largest_part(2), largest_part(8));
}

}  // namespace
}  // namespace regatta
