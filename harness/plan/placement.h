// SPDX-License-Identifier: Apache-2.0
//
// From a request to a placed graph: strategies, replicas and stages, processes, batch and length.
// `run` and `graph` share it, so that the graph shown is the graph that runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/evaluation_points.h"
#include "harness/plan/race_request.h"
#include "harness/plan/step_facts.h"
#include "kernels/graph/graph.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/executor.h"
#include "strategies/strategy.h"
#include "workloads/workload.h"

namespace regatta {

/// Whether fuse() is applied to a step before it is placed.
enum class FuseSteps : std::uint8_t { No, Yes };

/// Whether wide convolutions use Winograd's algorithm (kernels/graph/winograd.h).
enum class UseWinograd : std::uint8_t { No, Yes };

struct Placement {
  const Workload* workload = nullptr;
  StepFacts facts;
  std::vector<const Strategy*> strategies;
  StrategyOptions options;
  Recipe recipe;
  FuseSteps fuse_steps = FuseSteps::Yes;
  UseWinograd winograd = UseWinograd::No;
  bool on_gpus = false;  ///< workers compute on GPUs; servers and the host's place do not
  int processes = 1;     ///< those of servers plus those of workers
  int servers = 0;       ///< servers that have processes of their own
  int worker_processes = 1;
  std::optional<std::int64_t> stages_per_process;  ///< of a replica; empty: see layout.h
  bool sends_values = false;                       ///< values travel other than by sums
  bool by_nccl = false;                            ///< NCCL sums and gathers between GPUs
  int gpus = 1;                                    ///< used by a run in one process
  LaunchSteps launch = LaunchSteps::ByKernel;
  Evaluate evaluate = Evaluate::Often;
  std::optional<EngineRule> engines;     ///< of cuDNN; empty if the CPU computes
  std::vector<std::string> picked;       ///< algorithm of each all_reduce under `auto`; else empty
  std::optional<std::string> picked_by;  ///< digest of the costs; empty: algorithms were named
};

/// Plans a run and checks everything that can be checked without data. `train_examples` is the
/// number in the data set.
/// Throws: RunError(Usage), RunError(Unsupported).
Placement place(const RaceRequest& request, std::int64_t train_examples);

/// The algorithm, `ring` or `nccl`, by which NCCL would compute this request's collectives; empty
/// if the host would.
std::optional<std::string> nccl_algorithm(const RaceRequest& request);

/// The points at which the run is evaluated: the same for every strategy.
EvaluationPoints evaluation_points_of(const Placement& placement);

/// Applies `--fusion` and `--winograd` to a step.
Step as_computed(const Placement& placement, const Step& step);

/// The placed step before partition(). Under `--all-reduce auto` the algorithms of its sums are
/// open until `placement.picked` is set.
/// Throws: RunError(Usage).
Step placed_step(const Placement& placement);

/// The number of workers in the record: replicas times stages, without backup workers.
std::int64_t workers_of(const Placement& placement);

/// The number of replicas beyond those whose gradients a step needs.
std::int64_t backup_workers_of(const Placement& placement);

}  // namespace regatta
