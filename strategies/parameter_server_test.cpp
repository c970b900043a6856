// SPDX-License-Identifier: Apache-2.0
//
// Parameter servers over real gRPC connections compute the same as inside one process: the
// synchronous one bit by bit, for any division into servers, workers and processes; the
// asynchronous one keeps its clocks, its bound and its counts.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <tuple>

#include "kernels/base/error_for_test.h"
#include "kernels/cpu/lacks_for_test.h"
#include "kernels/distribute/traffic.h"
#include "kernels/runtime/loops/clock_watch_for_test.h"
#include "strategies/cluster_for_test.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

TrialOptions options_of(const std::string& strategy, std::int64_t workers, std::int64_t servers) {
  TrialOptions options;
  options.strategy = strategy;
  options.options.replicas = workers;
  options.options.given["servers"] = servers;
  return options;
}

struct Deal {
  std::int64_t workers = 1;
  int servers = 1;
  int processes = 1;  ///< processes of workers
};

class ParameterServers : public testing::TestWithParam<std::tuple<std::string, Deal>> {};

TEST_P(ParameterServers, OverGrpcComputeTheBitsOfOneProcess) {
  const auto& [workload, deal] = GetParam();
  TrialOptions options = options_of("parameter_server", deal.workers, deal.servers);
  const bool small = workload == "parabola";
  options.steps = small ? 50 : 3;
  const Step step = training_of(workload, small ? 49 : 40, options.steps);
  const DataSet& data = data_of(workload);
  Trial together(step, data, options);
  Cluster cluster(step, data, options,
                  servers_and_workers(deal.servers, deal.processes, deal.workers));
  cluster.run();
  EXPECT_EQ(cluster.parameters(), together.parameters());
}

INSTANTIATE_TEST_SUITE_P(Deals, ParameterServers,
                         testing::Combine(testing::Values("parabola", "resnet9_narrow"),
                                          testing::Values(Deal{1, 1, 1}, Deal{2, 1, 2},
                                                          Deal{2, 2, 2}, Deal{3, 3, 2},
                                                          Deal{5, 2, 3})),
                         [](const auto& test) {
                           const Deal& deal = std::get<1>(test.param);
                           return std::get<0>(test.param) + "_" + std::to_string(deal.workers) +
                                  "_workers_in_" + std::to_string(deal.processes) + "_processes_" +
                                  std::to_string(deal.servers) + "_servers";
                         });

/// Pushes are added up as they arrive.
TEST(ParameterServer, HoldsOneSumHoweverManyWorkersPush) {
  std::vector<std::int64_t> bytes;
  for (std::int64_t workers : {2, 4}) {
    TrialOptions options = options_of("parameter_server", workers, 1);
    options.steps = 1;
    Cluster cluster(training_of("resnet9_thin", 64, 1), data_of("resnet9_thin"), options,
                    servers_and_workers(1, static_cast<int>(workers), workers));
    bytes.push_back(cluster.executor(0).planned_bytes());
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

struct Ran {
  int processes = 1;
  std::int64_t steps = 1;
};

void expect_bytes_of_graph(Cluster& cluster, const Ran& ran) {
  const auto counted = cluster.counted();
  for (int process = 0; process < ran.processes; ++process) {
    for (const auto& [place, expected] : traffic(cluster.part(process).graph)) {
      EXPECT_EQ(counted.at(place).sent, ran.steps * expected.sent) << to_string(place);
      EXPECT_EQ(counted.at(place).received, ran.steps * expected.received) << to_string(place);
      EXPECT_EQ(counted.at(place).messages, ran.steps * expected.messages) << to_string(place);
    }
  }
}

class ParameterServerIn : public testing::TestWithParam<ElementType> {};

TEST_P(ParameterServerIn, CountsTheBytesThatTheGraphSays) {
  if (const std::string why = cpu::why_cpu_lacks(GetParam()); !why.empty()) GTEST_SKIP() << why;
  TrialOptions options = options_of("parameter_server", 2, 2);
  options.steps = 3;
  const Step step = training_of("resnet9_narrow", 40, 3, GetParam());
  Cluster cluster(step, data_of("resnet9_narrow"), options, servers_and_workers(2, 2, 2));
  cluster.run();
  Trial together(step, data_of("resnet9_narrow"), options);
  EXPECT_EQ(cluster.parameters(), together.parameters());
  expect_bytes_of_graph(cluster, {.processes = 4, .steps = 3});
}

TEST(ParameterServer, OverGrpcTakesWhatTopKSelects) {
  for (const Deal& deal : {Deal{2, 1, 2}, Deal{3, 2, 2}}) {
    TrialOptions options = options_of("parameter_server+top_k", deal.workers, deal.servers);
    options.options.given["share"] = 0.1;
    options.steps = 3;
    const Step step = training_of("resnet9_narrow", 40, options.steps);
    Cluster cluster(step, data_of("resnet9_narrow"), options,
                    servers_and_workers(deal.servers, deal.processes, deal.workers));
    cluster.run();
    Trial together(step, data_of("resnet9_narrow"), options);
    EXPECT_EQ(cluster.parameters(), together.parameters());
    expect_bytes_of_graph(cluster, {.processes = deal.servers + deal.processes, .steps = 3});
  }
}

INSTANTIATE_TEST_SUITE_P(Elements, ParameterServerIn,
                         testing::Values(ElementType::F32, ElementType::BF16),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(ParameterServerAsync, EveryPushIsAppliedAndItsStalenessCounted) {
  TrialOptions options = options_of("parameter_server_async", 2, 2);
  options.steps = 1000;
  Cluster cluster(training_of("parabola", 50, options.steps), data_of("parabola"), options,
                  servers_and_workers(2, 2, 2));
  cluster.run();
  std::int64_t pushes = 0;
  for (int worker : {2, 3}) {
    for (const LoopReport& loop : cluster.executor(worker).loops()) {
      EXPECT_GT(loop.steps, 0);
      pushes += loop.steps;
    }
  }
  EXPECT_GE(pushes, 2 * options.steps);
  std::uint64_t updates = 0;
  for (int server : {0, 1}) {
    for (const WorkerReport& worker : cluster.executor(server).workers()) {
      for (std::uint64_t count : worker.staleness) updates += count;
    }
  }
  EXPECT_EQ(updates, 4U * static_cast<std::uint64_t>(pushes));  // four parameters
  EXPECT_EQ(cluster.executor(0).lost_updates() + cluster.executor(1).lost_updates(), 0);
}

/// The last server applies the last worker's updates late: each server enforces the bound on its
/// own.
TEST(ParameterServerAsync, AStragglerHoldsTheOthersToTheBound) {
  for (int servers : {1, 2}) {
    for (std::int64_t bound : {0, 1, 4}) {
      TrialOptions options = options_of("parameter_server_async", 3, servers);
      options.steps = 20;
      options.stragglers[0] = 8;  // the first worker of every process: all are slow but one
      options.options.given["staleness_bound"] = bound;
      ClockWatch watch(ClockWatch::Slow{.worker = 2, .server = servers - 1});
      options.watch = &watch;
      Cluster cluster(training_of("parabola", 48, 1000), data_of("parabola"), options,
                      servers_and_workers(servers, 2, 3));
      cluster.run();
      EXPECT_EQ(watch.largest_lead(), bound) << servers << " servers";
    }
  }
}

/// The exchange reports that the worker's process is gone, as a broken stream would.
TEST(ParameterServerAsync, GoesOnWithoutALostWorkerWhereItMay) {
  for (const OnLoss loss : {OnLoss::End, OnLoss::Continue}) {
    TrialOptions options = options_of("parameter_server_async", 2, 2);
    options.steps = 40;
    options.loss = loss;
    options.options.given["staleness_bound"] = 1;  // the lost one must not hold the other back
    Cluster cluster(training_of("resnet9_thin", 48, options.steps), data_of("resnet9_thin"),
                    options, servers_and_workers(2, 2, 2));
    std::thread killer([&] {
      while (cluster.executor(0).examples_seen() < 5 * 48) std::this_thread::yield();
      for (int server : {0, 1}) cluster.exchange(server).lose(3, "it was killed by a test");
    });
    if (loss == OnLoss::End) {
      EXPECT_THROW(cluster.run(), RunError);
    } else {
      cluster.run_without(3);
      ASSERT_EQ(cluster.executor(0).lost().size(), 1U);
      EXPECT_NE(cluster.executor(0).lost()[0].find("it was killed by a test"), std::string::npos);
      EXPECT_GE(cluster.executor(0).examples_seen(), 40 * 48);
    }
    killer.join();
  }
}

/// Pushes that the server has applied, by worker.
std::vector<std::int64_t> applied_at(Cluster& cluster, int server) {
  std::vector<std::int64_t> applied;
  for (const WorkerReport& worker : cluster.executor(server).workers()) {
    applied.push_back(worker.updates_applied);
  }
  return applied;
}

TrialOptions with_a_backup_worker(std::int64_t servers, std::int64_t steps) {
  TrialOptions options = options_of("parameter_server", 2, servers);
  options.options.given["backup_workers"] = 1;
  options.steps = steps;
  return options;
}

TEST(BackupWorkers, OverGrpcEveryPushIsAppliedOrDropped) {
  for (int servers : {1, 2}) {
    const TrialOptions options = with_a_backup_worker(servers, 300);
    Cluster cluster(training_of("parabola", 30, options.steps), data_of("parabola"), options,
                    servers_and_workers(servers, 3, 3));
    cluster.run();
    EXPECT_EQ(cluster.executor(0).examples_seen(), options.steps * 30);
    const std::vector<LoopReport> loops = cluster.executor(0).loops();
    std::int64_t applied = 0;
    for (const WorkerReport& worker : cluster.executor(0).workers()) {
      applied += worker.updates_applied;
      EXPECT_EQ(worker.updates_applied + worker.updates_dropped,
                loops.at(static_cast<std::size_t>(worker.place.replica)).steps);
    }
    EXPECT_EQ(applied, 2 * options.steps);
    for (int server = 0; server < servers; ++server) {  // each updated once a step, by the same
                                                        // workers
      EXPECT_EQ(applied_at(cluster, server), applied_at(cluster, 0));
      std::uint64_t updates = 0;
      for (const WorkerReport& worker : cluster.executor(server).workers()) {
        EXPECT_EQ(std::count(worker.staleness.begin() + 1, worker.staleness.end(), 0), 63);
        updates += worker.staleness[0];
      }
      EXPECT_EQ(updates % static_cast<std::uint64_t>(options.steps), 0U);
    }
  }
}

TEST(BackupWorkers, GoOnWithoutOneThatIsLostAndEndWhenTooFewAreLeft) {
  TrialOptions options = with_a_backup_worker(1, 40);
  options.loss = OnLoss::Continue;
  for (const bool too_many : {false, true}) {
    Cluster cluster(training_of("resnet9_thin", 64, options.steps), data_of("resnet9_thin"),
                    options, servers_and_workers(1, 3, 3));
    std::thread killer([&] {
      while (cluster.executor(0).examples_seen() < 3 * 64) std::this_thread::yield();
      cluster.exchange(0).lose(3, "it was killed by a test");
      if (too_many) cluster.exchange(0).lose(1, "it was killed, too");
    });
    if (!too_many) {
      cluster.run_without(3);
      ASSERT_EQ(cluster.executor(0).lost().size(), 1U);
      EXPECT_EQ(cluster.executor(0).examples_seen(), 40 * 64);
    } else {
      const std::string error = error_of([&] { cluster.run(); });
      EXPECT_NE(error.find("1 of 3 workers left, but a step needs 2"), std::string::npos) << error;
    }
    killer.join();
  }
}

/// Whichever server notices first, and whatever the worker has sent to only one of them.
TEST(BackupWorkers, AreLostToAllServersInOneStepAtAnyMoment) {
  constexpr int kWorker = 3;  // the process of replica 1
  TrialOptions options = with_a_backup_worker(2, 200);
  options.loss = OnLoss::Continue;
  for (int moment = 0; moment < 16; ++moment) {
    Cluster cluster(training_of("parabola", 31, options.steps), data_of("parabola"), options,
                    servers_and_workers(2, 3, 3));
    std::thread killer([&] {
      while (cluster.executor(0).examples_seen() < (10 + 7 * moment) * 31) {
        std::this_thread::yield();
      }
      for (int server : {moment % 2, 1 - moment % 2}) {
        cluster.lose(server, kWorker, "it was killed by a test");
        std::this_thread::sleep_for(std::chrono::microseconds(moment / 2 % 4 * 100));
      }
    });
    cluster.run_without(kWorker);
    killer.join();
    const std::int64_t seen = cluster.executor(0).examples_seen();
    EXPECT_GE(seen, 200 * 31);
    EXPECT_LT(seen, 200 * 31 + 32);
    const std::vector<std::int64_t> applied = applied_at(cluster, 0);
    EXPECT_EQ(applied.at(0) * 16 + applied.at(1) * 15 + applied.at(2) * 16, seen);
    EXPECT_LT(applied.at(1), 200);
    const WorkerReport decided = cluster.executor(0).workers().at(1);
    for (int server : {0, 1}) {
      EXPECT_EQ(cluster.executor(server).lost().size(), 1U);
      EXPECT_EQ(applied_at(cluster, server), applied);
      const Place place{.replica = 1, .stage = server, .role = Role::Server};
      EXPECT_LE(decided.updates_applied + decided.updates_dropped,
                cluster.exchange(server).exchange_times().at(place).pushes.value_or(0));
    }
  }
}

}  // namespace
}  // namespace regatta::strategies
