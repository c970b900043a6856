// SPDX-License-Identifier: Apache-2.0
//
// Tests which GPU a process is on, who sums, and the GPU fields of the record.
#include "harness/plan/gpu_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "harness/plan/capture_rule.h"
#include "harness/plan/cell.h"
#include "kernels/base/error_for_test.h"
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

/// The cell of a run of `strategy` in one process.
record::Cell cell_of_one_process(const std::string& strategy, int workers,
                                 const std::string& device = "cuda") {
  RaceRequest request;
  request.strategy = strategy;
  request.device = device;
  return cell_of(request, placement_of(strategy, workers), {.dataset = "curve", .cores = 2});
}

TEST(GpuRule, DealsTheGpusOfAHostToItsProcessesInTurn) {
  EXPECT_EQ(gpu_of(0, 4), 0);
  EXPECT_EQ(gpu_of(3, 4), 3);
  EXPECT_EQ(gpu_of(5, 4), 1);
  EXPECT_EQ(gpu_of(3, 1), 0);  // each process sees only its own GPU
  EXPECT_EQ(gpu_of(3, 0), 0);
}

TEST(GpuRule, MarksWorkersThatShareTheGpuOfTheirProcess) {
  EXPECT_TRUE(cell_of_one_process("in_graph", 2).shared_gpu);
  EXPECT_EQ(cell_of_one_process("in_graph", 2).gpus, 1);
  EXPECT_FALSE(cell_of_one_process("single", 1).shared_gpu);
  EXPECT_FALSE(cell_of_one_process("in_graph", 2, "cpu").shared_gpu);
  EXPECT_EQ(cell_of_one_process("in_graph", 2, "cpu").gpus, std::nullopt);
}

TEST(GpuRule, CapturesNoStepThatIsOnTheHost) {
  RaceRequest request;
  request.device = "cuda";
  request.cuda_graph = "on";
  EXPECT_EQ(launch_of_steps(request, placement_of("in_graph", 2)), LaunchSteps::AsOne);
  EXPECT_EQ(
      regatta::testing_support::error_of(
          [&] { launch_of_steps(request, placement_of("central_storage", 2)); }, ErrorKind::Usage),
      "--cuda-graph on cannot be: the host holds and updates the parameters; fix: leave it "
      "out, or give --cuda-graph off");
  request.cuda_graph = "auto";
  EXPECT_EQ(launch_of_steps(request, placement_of("central_storage", 2)), LaunchSteps::ByKernel);
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

}  // namespace
}  // namespace regatta::plan
