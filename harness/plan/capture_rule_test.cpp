// SPDX-License-Identifier: Apache-2.0
//
// Tests the rule for which runs launch their steps as one against actual recording: the steps that
// it allows are recorded on an emulated GPU, and those that it refuses for their strategy fail
// there.
#include "harness/plan/capture_rule.h"

#include <gtest/gtest.h>

#include "harness/plan/cell.h"
#include "harness/plan/layout.h"
#include "harness/plan/training_options.h"
#include "harness/run/backend.h"
#include "kernels/base/error_for_test.h"
#include "kernels/comm/in_process/in_process.h"
#include "kernels/cuda/device/emulated_for_test.h"
#include "kernels/distribute/partition.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/executor.h"
#include "strategies/shared_options.h"
#include "strategies/strategy.h"
#include "workloads/data/curve.h"

namespace regatta::plan {
namespace {

const DataSet& data() {
  static const DataSet points = workloads::make_curve();
  return points;
}

RaceRequest request_of(const std::string& strategy) {
  RaceRequest request;
  request.workload = "parabola";
  request.strategy = strategy;
  request.device = "cuda";
  request.workers = strategy == "single" ? 1 : 2;
  request.steps = 3;
  return request;
}

Placement placement_of(const RaceRequest& request) {
  Placement placement = place(request, data().count);
  set_data_weights(placement, workloads::data_weights_of(*placement.workload, data()));
  return placement;
}

/// Why the steps of a run in one process cannot be recorded; empty if they were recorded and ran.
std::string why_not_recorded(const RaceRequest& request) {
  const Placement placement = placement_of(request);
  const Step part = placement.placed->parts.front();
  run::Backend backend("cuda");
  backend.gpu = cuda::make_emulated_device();
  add_cuda_kernels(backend.kernels);
  add_cpu_kernels(backend.host_kernels);
  auto in_process = std::make_unique<comm::InProcessTransport>();
  backend.add(std::move(in_process));
  ExecutorOptions options = executor_options(request, placement, data(), 0);
  options.launch = LaunchSteps::AsOne;
  return testing_support::error_of([&] {
    Executor executor(part, backend.devices(), options);
    executor.prepare();
    executor.run(placement.recipe.total_examples);
  });
}

TEST(CaptureRule, AllowsWhatCanBeRecordedAndRefusesWhatCannot) {
  for (const char* strategy :
       {"single", "independent", "in_graph", "central_storage", "model_parallel", "pipeline",
        "all_reduce", "all_reduce+powersgd", "all_reduce+top_k", "all_reduce+bf16_compress",
        "sharded", "sharded+powersgd", "local_sgd", "diloco", "gossip", "parameter_server"}) {
    RaceRequest request = request_of(strategy);
    const std::vector<const Option*> declared =
        strategies::options_of(strategies::find_strategies(strategy));
    if (std::find(declared.begin(), declared.end(), &strategies::kAlgorithm) != declared.end()) {
      request.options["all_reduce"] = "reduce_to_one";
    }
    if (request.strategy == "parameter_server") request.processes = 1;
    const std::string why_not = why_not_captured(request, placement_of(request));
    const std::string not_recorded = why_not_recorded(request);
    EXPECT_EQ(why_not.empty(), not_recorded.empty())
        << strategy << ": '" << why_not << "', but: '" << not_recorded << "'";
  }
}

constexpr const char* kInstead =
    "; between processes NCCL's ring and nccl can be captured, in one process all but double_tree "
    "and torus";

TEST(CaptureRule, TakesSumsInOneProcessThatAGpuAddsUp) {
  RaceRequest request = request_of("all_reduce");
  for (const char* algorithm : {"reduce_to_one", "hierarchical_copy"}) {
    for (const int workers : {1, 2, 5}) {
      request.options["all_reduce"] = algorithm;
      request.workers = workers;
      EXPECT_EQ(why_not_captured(request, placement_of(request)), "");
      EXPECT_EQ(why_not_recorded(request), "");
    }
  }
  for (const char* algorithm : {"double_tree", "torus"}) {
    request.options["all_reduce"] = algorithm;
    request.workers = 4;
    EXPECT_EQ(why_not_captured(request, placement_of(request)),
              "the host sums by --all-reduce " + std::string(algorithm) + kInstead);
    EXPECT_NE(why_not_recorded(request), "");
  }
}

TEST(CaptureRule, TakesNcclsSumsBetweenProcessesAndNoOthers) {
  RaceRequest request = request_of("all_reduce");
  request.processes = 2;
  for (const char* algorithm : {"ring", "nccl"}) {
    request.options["all_reduce"] = algorithm;
    EXPECT_EQ(why_not_captured(request, placement_of(request)), "");
  }
  for (const char* algorithm : {"reduce_to_one", "mpi"}) {
    request.options["all_reduce"] = algorithm;
    EXPECT_EQ(why_not_captured(request, placement_of(request)),
              "the host sums by --all-reduce " + std::string(algorithm) + kInstead);
  }
}

TEST(CaptureRule, IsWhatAutoDoesAndWhatTheCellSays) {
  const auto cell_says = [](const RaceRequest& request) {
    return cell_of(request, placement_of(request), {.dataset = "curve", .cores = 1}).cuda_graph;
  };
  RaceRequest request = request_of("single");
  EXPECT_EQ(cell_says(request), "on");
  request.cuda_graph = "off";
  EXPECT_EQ(cell_says(request), "off");
  request.cuda_graph = "auto";
  request.stragglers[0] = 2;
  EXPECT_EQ(cell_says(request), "off");
  request.stragglers.clear();
  request.trace = "trace.json";
  EXPECT_EQ(cell_says(request), "off");
  request.trace.clear();
  request.device = "cpu";
  EXPECT_EQ(cell_says(request), std::nullopt);
}

TEST(Evaluations, AreCapturedOnAGpuUnlessCapturesAreOff) {
  RaceRequest request;
  EXPECT_EQ(launch_of_evaluations(request), LaunchSteps::ByKernel);
  request.device = "cuda";
  EXPECT_EQ(launch_of_evaluations(request), LaunchSteps::AsOne);
  request.cuda_graph = "off";
  EXPECT_EQ(launch_of_evaluations(request), LaunchSteps::ByKernel);
}

TEST(Evaluations, HaveALargerBatchOnAGpuWhereItDividesTheExamples) {
  const auto batch = [](const std::string& device, std::int64_t examples) {
    RaceRequest request;
    request.device = device;
    workloads::Recipe recipe;
    recipe.evaluation_batch = 500;
    return evaluated_recipe(request, recipe, examples).evaluation_batch;
  };
  EXPECT_EQ(batch("cuda", 10'000), 2000);
  EXPECT_EQ(batch("cuda", 1000), 500);
  EXPECT_EQ(batch("cpu", 10'000), 500);
  EXPECT_EQ(batch("cpu", 790), 395);  // no example is left out
}

}  // namespace
}  // namespace regatta::plan
