// SPDX-License-Identifier: Apache-2.0
//
// Turns a request into a placed graph: determines strategies, replicas and stages, processes, batch
// and length of the run. Both `regatta run` and `regatta graph` use it, so that the graph shown is
// the graph that runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/evaluation_points.h"
#include "harness/plan/race_request.h"
#include "harness/plan/step_facts.h"
#include "kernels/graph/graph.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/executor.h"
#include "strategies/passes.h"
#include "strategies/strategy.h"
#include "workloads/workload.h"

namespace regatta::plan {

/// Whether fuse() is applied to a step before it is placed.
enum class FuseSteps : std::uint8_t { No, Yes };

/// Whether wide convolutions use Winograd's algorithm (kernels/rewrite/winograd.h).
enum class UseWinograd : std::uint8_t { No, Yes };

/// The places that a graph has: for virtual time, one of those that are alike stands for all
/// (Step::alike), where the strategies allow it.
enum class BuildPlaces : std::uint8_t { All, OneOfAlike };

/// The result of all passes (strategies/passes.h).
struct PlacedStep {
  Step step;                  ///< the whole step, before the passes `peers` and `partition`
  std::vector<Step> parts;    ///< `parts[p]` is the step of process p
  std::int64_t build_ns = 0;  ///< time of all passes
};

/// The plan of a run: everything about it that is known without loading data.
struct Placement {
  const workloads::Workload* workload = nullptr;
  StepFacts facts;
  std::vector<const strategies::Strategy*> strategies;
  strategies::StrategyOptions options;
  workloads::Recipe recipe;
  double model_flops = 0;  ///< of a step (kernels/distribute/traffic.h)
  FuseSteps fuse_steps = FuseSteps::Yes;
  UseWinograd winograd = UseWinograd::No;
  bool on_gpus = false;      ///< workers are on GPUs; server processes and the host are not
  int processes = 1;         ///< number of processes, servers included
  int servers = 0;           ///< number of servers with a process of their own
  int worker_processes = 1;  ///< number of processes that have workers
  std::optional<std::int64_t> stages_per_process;  ///< --stages-per-process; empty: see layout.h
  bool sends_values = false;                       ///< values travel other than by collectives
  bool by_nccl = false;                            ///< collectives between GPUs use NCCL
  LaunchSteps launch = LaunchSteps::ByKernel;
  Evaluate evaluate = Evaluate::Often;
  double target = 0;  ///< of the workload's metric
  /// The run's graph, which is built only once. Null after it has been handed on.
  std::shared_ptr<const PlacedStep> placed;
};

/// Plans a run, builds its step, and checks everything that can be checked without loading data.
/// `train_examples` is the number of training examples in the data set; `watch` is called after
/// each pass. Throws: RunError(Usage), RunError(Unsupported).
Placement place(const RaceRequest& request, std::int64_t train_examples,
                const strategies::PassWatch& watch = {}, BuildPlaces build = BuildPlaces::All);

/// Sets the placed step's initial weights that are computed from the data (data_weights_of()).
void set_data_weights(Placement& placement, std::vector<float> weights);

/// Returns the algorithm, `ring` or `nccl`, by which NCCL would compute the request's collectives;
/// empty if NCCL would not be used.
std::optional<std::string> nccl_algorithm(const RaceRequest& request);

/// Returns the points at which the run is evaluated, which are the same for every strategy.
EvaluationPoints evaluation_points_of(const Placement& placement);

/// Applies `--fusion` and `--winograd` to a step.
Step as_computed(const Placement& placement, const Step& step);

/// Returns the number of parts into which the model of a replica is cut: stages times shards.
std::int64_t parts_of(const Placement& placement);

/// Returns the number of workers for the record: replicas times parts, without backup workers.
std::int64_t workers_of(const Placement& placement);

/// Returns the number of backup workers: replicas beyond those whose gradients a step needs.
std::int64_t backup_workers_of(const Placement& placement);

}  // namespace regatta::plan
