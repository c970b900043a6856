// SPDX-License-Identifier: Apache-2.0
//
// Tests which GPU a place is on, given the numbers of workers and GPUs, and the GPU fields of the
// record.
#include "harness/plan/gpu_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "harness/plan/capture_rule.h"
#include "harness/plan/cell.h"
#include "kernels/base/error.h"
#include "kernels/runtime/gpu_facts.h"
#include "strategies/passes.h"
#include "workloads/workload.h"

namespace regatta::plan {
namespace {

Placement placement_of(const std::string& strategy, std::int64_t replicas,
                       std::int64_t stages = 1) {
  Placement placement;
  placement.strategies = strategies::find_strategies(strategy);
  placement.options.replicas = replicas;
  placement.options.stages = stages;
  workloads::Recipe recipe;
  recipe.global_batch = recipe.train_examples = recipe.total_examples = 48;
  placement.workload = &workloads::find_workload("parabola");
  const Step step = placement.workload->training(recipe);
  placement.facts = facts_of(strategies::apply(placement.strategies, step, placement.options));
  return placement;
}

/// The cell of a run of `strategy` on a machine with `gpus` GPUs.
record::Cell cell_on(const std::string& strategy, int workers, int gpus,
                     const std::string& device = "cuda") {
  RaceRequest request;
  request.strategy = strategy;
  request.device = device;
  const bool staged = strategy == "model_parallel";
  Placement placement = placement_of(strategy, staged ? 1 : workers, staged ? workers : 1);
  placement.gpus = gpus_of(placement, gpus);
  return cell_of(request, placement, {.dataset = "curve", .cores = 2});
}

TEST(GpuRule, DealsTheGpusOfAHostToItsProcessesInTurn) {
  EXPECT_EQ(gpu_of(0, 4), 0);
  EXPECT_EQ(gpu_of(3, 4), 3);
  EXPECT_EQ(gpu_of(5, 4), 1);
  EXPECT_EQ(gpu_of(3, 1), 0);  // each process sees only its own GPU
  EXPECT_EQ(gpu_of(3, 0), 0);
}

TEST(GpuRule, DealsTheGpusOfAProcessToItsReplicasAndTheirStagesInTurn) {
  const GpuDeal of_shards{.gpus = 8, .stages = 2, .shards = 2};
  EXPECT_EQ(gpu_of({.replica = 1, .stage = 1, .shard = 1}, of_shards), 7);
  EXPECT_EQ(gpu_of({.shard = 1}, of_shards), 1);
  const GpuDeal three{.gpus = 3, .stages = 2};
  std::vector<int> gpus;
  for (int replica = 0; replica < 2; ++replica) {
    for (int stage = 0; stage < 2; ++stage) {
      gpus.push_back(gpu_of(Place{.replica = replica, .stage = stage}, three).value());
    }
  }
  EXPECT_EQ(gpus, (std::vector<int>{0, 1, 2, 0}));
  EXPECT_EQ(gpu_of(Place{.replica = 7}, GpuDeal{}), 0);
}

TEST(GpuRule, LeavesTheHostsPlaceOnTheHostAndServersTogether) {
  const GpuDeal two{.gpus = 2};
  EXPECT_EQ(gpu_of(Place{.replica = 0, .stage = 1, .role = Role::Host}, two), std::nullopt);
  EXPECT_EQ(gpu_of(Place{.replica = 1, .stage = 0, .role = Role::Server}, two), 0);
  EXPECT_EQ(gpu_of(Place{.replica = 0, .stage = 1, .role = Role::Server}, two), 0);
}

TEST(GpuRule, GivesEachWorkerOfOneProcessAGpuAsFarAsTheyGo) {
  EXPECT_EQ(gpus_of(placement_of("in_graph", 2), 8), 2);
  EXPECT_EQ(gpus_of(placement_of("in_graph", 8), 2), 2);
  EXPECT_EQ(gpus_of(placement_of("in_graph+model_parallel", 2, 2), 8), 4);
  EXPECT_EQ(gpus_of(placement_of("single", 1), 8), 1);
  EXPECT_EQ(gpus_of(placement_of("in_graph", 2), 0), 1);  // the missing GPU is reported elsewhere
}

TEST(GpuRule, KeepsWhatSharesMemoryOnOneGpu) {
  EXPECT_EQ(gpus_of(placement_of("async_shared", 2), 8), 1);
  EXPECT_EQ(gpus_of(placement_of("ad_psgd", 2), 8), 1);
  EXPECT_EQ(gpus_of(placement_of("all_reduce", 2), 8), 1);
  EXPECT_EQ(gpus_of(placement_of("all_reduce+model_parallel", 2, 2), 8), 1);
  EXPECT_EQ(gpus_of(placement_of("sharded", 2), 8), 1);
  Placement over_processes = placement_of("independent", 4);
  over_processes.processes = over_processes.worker_processes = 2;
  EXPECT_EQ(gpus_of(over_processes, 8), 1);
}

TEST(GpuRule, MarksWorkersThatShareAGpuAndNoOthers) {
  EXPECT_TRUE(cell_on("in_graph", 2, 1).shared_gpu);
  EXPECT_FALSE(cell_on("in_graph", 2, 2).shared_gpu);
  EXPECT_TRUE(cell_on("in_graph", 3, 2).shared_gpu);
  EXPECT_FALSE(cell_on("central_storage", 2, 2).shared_gpu);
  EXPECT_FALSE(cell_on("model_parallel", 2, 2).shared_gpu);
  EXPECT_TRUE(cell_on("async_shared", 2, 8).shared_gpu);
  EXPECT_FALSE(cell_on("single", 1, 1).shared_gpu);
  EXPECT_FALSE(cell_on("in_graph", 2, 1, "cpu").shared_gpu);
}

TEST(GpuRule, TellsTheRecordHowManyGpusWorkersAreOn) {
  EXPECT_EQ(cell_on("in_graph", 4, 2).gpus, 2);
  EXPECT_EQ(cell_on("in_graph", 2, 8).gpus, 2);
  EXPECT_EQ(cell_on("async_shared", 2, 8).gpus, 1);
  EXPECT_EQ(cell_on("in_graph", 2, 1, "cpu").gpus, std::nullopt);
}

TEST(GpuRule, SendsBackupWorkersToServersInProcessesOfTheirOwn) {
  RaceRequest request;
  request.strategy = "parameter_server";
  request.device = "cuda";
  Placement placement = placement_of("parameter_server", 2);
  placement.facts.has_quorum = true;
  EXPECT_THROW(deal_gpus(request, placement), RunError);
  placement.processes = 4;
  EXPECT_NO_THROW(deal_gpus(request, placement));
}

/// NCCL, if installed, carries the shares of workers with a process each, and the sums beside them;
/// in one process a GPU kernel carries the shares.
TEST(GpuRule, GivesSharesToNccl) {
  const std::vector<GpuLibrary> all = find_gpu_libraries();
  const bool is_here = std::any_of(all.begin(), all.end(), [](const GpuLibrary& library) {
    return library.name == "NCCL" && !library.version.empty();
  });
  for (const char* strategy : {"sharded", "sharded+powersgd"}) {
    RaceRequest request;
    request.strategy = strategy;
    request.device = "cuda";
    Placement placement = placement_of(strategy, 2);
    deal_gpus(request, placement);
    EXPECT_FALSE(placement.by_nccl);
    EXPECT_EQ(why_not_captured(request, placement), "");
    placement.processes = placement.worker_processes = 2;
    deal_gpus(request, placement);
    EXPECT_EQ(placement.by_nccl, is_here);
    EXPECT_EQ(why_not_captured(request, placement).empty(), is_here);
    request.device = "cpu";
    deal_gpus(request, placement);
    EXPECT_FALSE(placement.by_nccl);
  }
}

/// NCCL sums beside shares only if it is requested by name; in one process that run is refused.
TEST(GpuRule, RefusesNcclsSumsBesideSharesInOneProcess) {
  RaceRequest request;
  request.strategy = "all_reduce+powersgd+top_k";
  request.device = "cuda";
  Placement placement = placement_of(request.strategy, 2);
  ASSERT_TRUE(placement.facts.sums_gradients && placement.facts.carries_shares);
  EXPECT_NO_THROW(deal_gpus(request, placement));
  EXPECT_FALSE(placement.by_nccl);
  request.options["all_reduce"] = "nccl";
  EXPECT_THROW(deal_gpus(request, placement), RunError);
  placement.processes = placement.worker_processes = 2;
  deal_gpus(request, placement);
  EXPECT_TRUE(placement.by_nccl);
}

TEST(GpuRule, CapturesNoStepThatIsOnSeveralGpusOrOnTheHost) {
  RaceRequest request;
  request.device = "cuda";
  request.cuda_graph = "on";
  Placement placement = placement_of("in_graph", 2);
  EXPECT_EQ(launch_of_steps(request, placement), LaunchSteps::AsOne);
  placement.gpus = 2;
  const auto error_of = [&](const Placement& refused) -> std::string {
    try {
      launch_of_steps(request, refused);
    } catch (const RunError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Usage);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(
      error_of(placement),
      "--cuda-graph on cannot be: the run's places are on 2 GPUs, and a captured step is of "
      "one (CUDA_VISIBLE_DEVICES=0 shows a single one); fix: leave it out, or give --cuda-graph "
      "off");
  EXPECT_EQ(
      error_of(placement_of("central_storage", 2)),
      "--cuda-graph on cannot be: the host holds and updates the parameters; fix: leave it out, "
      "or give --cuda-graph off");
  RaceRequest automatic;
  automatic.device = "cuda";
  EXPECT_EQ(launch_of_steps(automatic, placement), LaunchSteps::ByKernel);
  EXPECT_EQ(launch_of_steps(automatic, placement_of("central_storage", 2)), LaunchSteps::ByKernel);
}

}  // namespace
}  // namespace regatta::plan
