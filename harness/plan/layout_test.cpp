// SPDX-License-Identifier: Apache-2.0
//
// Tests which process holds which places, and how several reports are merged.
#include "harness/plan/layout.h"

#include <gtest/gtest.h>

#include "harness/plan/cell.h"
#include "harness/run/merge_reports.h"
#include "kernels/base/error_for_test.h"

namespace regatta::plan {
namespace {

using regatta::testing_support::error_of;

Placement placement_of(std::int64_t replicas, int servers, int worker_processes,
                       std::int64_t stages = 1) {
  Placement placement;
  placement.options.replicas = placement.facts.replicas = replicas;
  placement.options.stages = placement.facts.stages = stages;
  placement.servers = servers;
  placement.worker_processes = worker_processes;
  placement.processes = servers + worker_processes;
  return placement;
}

TEST(Layout, DealsReplicasInContiguousSharesAfterTheServers) {
  const Binding binding = binding_of(placement_of(5, 2, 2));
  EXPECT_EQ(binding.processes, 4);
  std::vector<int> processes;
  for (int r = 0; r < 5; ++r) processes.push_back(binding.process_of({.replica = r}));
  EXPECT_EQ(processes, (std::vector<int>{2, 2, 2, 3, 3}));
  EXPECT_EQ(binding.process_of({.replica = 3, .stage = 1, .role = Role::Server}), 1);
}

/// The process of each stage of each replica.
std::vector<std::vector<int>> processes_of(const Placement& placement) {
  const Binding binding = binding_of(placement);
  std::vector<std::vector<int>> all;
  for (int replica = 0; replica < placement.facts.replicas; ++replica) {
    std::vector<int>& own = all.emplace_back();
    for (int stage = 0; stage < placement.facts.stages; ++stage) {
      own.push_back(binding.process_of({.replica = replica, .stage = stage}));
    }
  }
  return all;
}

using ProcessOfStage = std::vector<std::vector<int>>;

TEST(Layout, KeepsTheStagesOfAReplicaTogetherWhereThereAreReplicasForAllProcesses) {
  EXPECT_EQ(processes_of(placement_of(2, 0, 2, 3)), (ProcessOfStage{{0, 0, 0}, {1, 1, 1}}));
  EXPECT_EQ(processes_of(placement_of(3, 0, 2, 2)), (ProcessOfStage{{0, 0}, {0, 0}, {1, 1}}));
}

TEST(Layout, SpreadsTheStagesOfAReplicaOverItsProcessesWhereThereAreMore) {
  EXPECT_EQ(processes_of(placement_of(1, 0, 2, 3)), (ProcessOfStage{{0, 0, 1}}));
  EXPECT_EQ(processes_of(placement_of(2, 0, 3, 3)), (ProcessOfStage{{0, 0, 1}, {2, 2, 2}}));
  EXPECT_EQ(processes_of(placement_of(2, 0, 4, 2)), (ProcessOfStage{{0, 1}, {2, 3}}));
}

TEST(Layout, KeepsTheShardsOfAStageBehindEachOther) {
  Placement placement = placement_of(2, 0, 4, 2);
  placement.facts.shards = 2;
  EXPECT_EQ(
      worker_places(placement, 3),
      (std::vector<Place>{{.replica = 1, .stage = 1}, {.replica = 1, .stage = 1, .shard = 1}}));
  EXPECT_EQ(binding_of(placement).process_of({.replica = 1, .stage = 0, .shard = 1}), 2);
}

TEST(Layout, DealsReplicasToTeamsThatHoldSoManyStagesEach) {
  Placement placement = placement_of(3, 0, 4, 3);
  placement.stages_per_process = 2;
  check_deal(placement);
  EXPECT_EQ(processes_of(placement), (ProcessOfStage{{0, 0, 1}, {0, 0, 1}, {2, 2, 3}}));
  EXPECT_EQ(worker_places(placement, 1),
            (std::vector<Place>{{.replica = 0, .stage = 2}, {.replica = 1, .stage = 2}}));
  EXPECT_EQ(binding_of(placement).process_of({.role = Role::Host}), 0);
}

std::string refusal_of(const Placement& placement) {
  return error_of([&] { check_deal(placement); });
}

TEST(Layout, SaysHowManyProcessesThereCanBe) {
  EXPECT_EQ(refusal_of(placement_of(2, 0, 4, 2)), "");
  EXPECT_EQ(refusal_of(placement_of(1, 0, 2)),
            "--processes is 2, but there is only 1 replica to deal to them");
  EXPECT_EQ(refusal_of(placement_of(2, 0, 5, 2)),
            "--processes is 5, but there are only 4 stages of 2 replicas to deal to them");
  Placement parts = placement_of(2, 0, 9, 2);
  parts.facts.shards = 2;
  EXPECT_EQ(refusal_of(parts),
            "--processes is 9, but there are only 8 parts of 2 replicas to deal to them");
  Placement placement = placement_of(2, 0, 3, 3);
  placement.stages_per_process = 2;
  EXPECT_EQ(refusal_of(placement),
            "--processes is 3, but with --stages-per-process 2 the 3 stages of a replica are in 2 "
            "processes; fix: give --processes 2 times 1 to 2");
  placement.stages_per_process = 4;
  EXPECT_EQ(refusal_of(placement),
            "--stages-per-process is 4; a replica has 3 stages, so 1 to that many are possible");
}

TEST(Layout, CountsTheWorkersOfEachProcess) {
  const Placement placement = placement_of(3, 1, 2, 2);
  EXPECT_EQ(workers_in(placement, 0), 0);
  EXPECT_EQ(workers_in(placement, 1), 4);
  EXPECT_EQ(workers_in(placement, 2), 2);
}

TEST(Layout, GivesEachWorkerTheCoresItWouldHaveInOneProcess) {
  const std::vector<int> cores = {4, 5, 6, 7};
  const CoreShare first{.first_worker = 0, .workers = 1, .workers_on_host = 2};
  const CoreShare second{.first_worker = 1, .workers = 1, .workers_on_host = 2};
  EXPECT_EQ(cores_of(first, cores), (std::vector<int>{4, 5}));
  EXPECT_EQ(cores_of(second, cores), (std::vector<int>{6, 7}));
  const CoreShare crowded{.first_worker = 3, .workers = 3, .workers_on_host = 6};
  EXPECT_EQ(cores_of(crowded, cores), (std::vector<int>{7, 4, 5}));
}

TEST(Layout, TakesTheThreadsOfACellFromTheHostThatIsWorstOff) {
  record::Cell cell;
  count_cores({{.workers = 2, .cores = 8}, {.workers = 1, .cores = 3}, {.workers = 0}}, cell);
  EXPECT_EQ(cell.threads_per_worker, 3);
  EXPECT_FALSE(cell.oversubscribed);
  count_cores({{.workers = 2, .cores = 8}, {.workers = 2, .cores = 1}}, cell);
  EXPECT_EQ(cell.threads_per_worker, 1);
  EXPECT_TRUE(cell.oversubscribed);
}

TEST(Layout, TellsWhereWorkersShareAGpu) {
  record::Cell cell{.device = "cuda"};
  const HostCores apart{.workers = 4, .cores = 8, .gpus = 4, .most_on_a_gpu = 1};
  const HostCores together{.workers = 4, .cores = 8, .gpus = 2, .most_on_a_gpu = 2};
  count_cores({apart, apart}, cell);
  EXPECT_FALSE(cell.shared_gpu);
  EXPECT_EQ(cell.gpus, 8);
  count_cores({apart, together}, cell);
  EXPECT_TRUE(cell.shared_gpu);
  EXPECT_EQ(cell.gpus, 6);
}

TEST(Layout, LetsServersComputeOnTheCpu) {
  const Placement placement = placement_of(3, 2, 2);
  EXPECT_EQ(device_of(placement, 0, "cuda"), "cpu");
  EXPECT_EQ(device_of(placement, 1, "cuda"), "cpu");
  EXPECT_EQ(device_of(placement, 2, "cuda"), "cuda");
  EXPECT_EQ(device_of(placement, 3, "cuda"), "cuda");
  EXPECT_EQ(device_of(placement, 2, "cpu"), "cpu");
}

TEST(Layout, LetsServersFloat) {
  const CoreShare server{.first_worker = 0, .workers = 0, .workers_on_host = 2};
  EXPECT_EQ(cores_of(server, {0, 1}), (std::vector<int>{0, 1}));
}

TEST(Reports, OfOneLoopInTwoProcessesBecomeOne) {
  std::vector<run::TrainingReport> parts(2);
  parts[0].loops = {{.number = 0,
                     .share_of_batch = 1,
                     .step_ns = {10, 20},
                     .losses = {1, 2},
                     .examples = {0, 50}}};
  parts[1].loops = {{.number = 0,
                     .share_of_batch = 1,
                     .step_ns = {15, 5},
                     .losses = {3, 4},
                     .examples = {0, 50}}};
  const run::TrainingReport all = run::merged(parts);
  ASSERT_EQ(all.loops.size(), 1U);
  EXPECT_EQ(all.loops[0].step_ns, (std::vector<std::int64_t>{15, 20}));
  EXPECT_EQ(all.loops[0].losses, (std::vector<float>{4, 6}));
  EXPECT_EQ(all.loops[0].examples, (std::vector<std::int64_t>{0, 50}));
  EXPECT_EQ(all.loops[0].share_of_batch, 1);
}

TEST(Reports, TellOnceWhatKernelsOfAllProcessesHaveChosen) {
  std::vector<run::TrainingReport> parts(2);
  parts[0].kernels = {{.node = "dense a", .choice = "x"}, {.node = "dense b", .choice = "x"}};
  parts[1].kernels = {{.node = "dense a", .choice = "x"}, {.node = "dense b", .choice = "y"}};
  const std::set<KernelChoice> expected = {{.node = "dense a", .choice = "x"},
                                           {.node = "dense b", .choice = "x"},
                                           {.node = "dense b", .choice = "y"}};
  const run::TrainingReport all = run::merged(parts);
  EXPECT_EQ(all.kernels, expected);
}

TEST(Reports, OfWorkersStandInTheOrderOfPlaces) {
  std::vector<run::TrainingReport> parts(2);
  parts[0].workers.push_back({.rank = 0, .report = {}});
  parts[1].workers.push_back({.rank = 1, .report = {}});
  parts[0].workers[0].report.place.replica = 1;
  parts[0].traffic[{.replica = 1}] = {.sent = 1, .received = 2, .messages = 1};
  parts[1].traffic[{.replica = 1}] = {.sent = 10, .received = 20, .messages = 1};
  const run::TrainingReport all = run::merged(parts);
  EXPECT_EQ(all.workers[0].rank, 1);
  EXPECT_EQ(all.workers[1].rank, 0);
  EXPECT_EQ(all.traffic.at({.replica = 1}).received, 22);
}

TEST(Reports, OfOnePlaceFollowTheRulesOfTheirFields) {
  std::vector<run::TrainingReport> parts(2);
  const Place place{.replica = 1};
  parts[0].exchange_times[place] = {.late_uncertainty_ns = 7, .pushes = 3};
  parts[0].exchange_times[place].late.add(100);
  parts[1].exchange_times[place] = {.late_uncertainty_ns = 5, .pushes = 2};
  parts[1].exchange_times[place].late.add(50);
  parts[0].clocks[0] = {.offset_ns = 1};
  parts[1].clocks[1] = {.offset_ns = 2};
  const run::TrainingReport all = run::merged(parts);
  EXPECT_EQ(all.exchange_times.at(place).late.sum(), 150);
  EXPECT_EQ(all.exchange_times.at(place).late_uncertainty_ns, 7);
  EXPECT_EQ(all.exchange_times.at(place).pushes, 2);
  EXPECT_EQ(all.clocks.at(1).offset_ns, 2);
  const run::TrainingReport longer = run::joined(all, all);
  EXPECT_EQ(longer.exchange_times.at(place).late_uncertainty_ns, 7);
  EXPECT_EQ(longer.exchange_times.at(place).pushes, 4);
  EXPECT_EQ(longer.clocks, all.clocks);
}

}  // namespace
}  // namespace regatta::plan
