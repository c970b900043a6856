// SPDX-License-Identifier: Apache-2.0
//
// From a request to a placed graph: which strategies, how many replicas and stages, which batch and
// how long. Shared by `run` and `graph`, so that what is shown is what is run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/race_request.h"
#include "harness/plan/step_facts.h"
#include "kernels/graph/graph.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/executor.h"
#include "strategies/strategy.h"
#include "workloads/workload.h"

namespace regatta {

/// Whether steps go through fuse() before they are placed.
enum class FuseSteps : std::uint8_t { No, Yes };

/// Whether wide convolutions go by Winograd's algorithm (kernels/graph/winograd.h).
enum class UseWinograd : std::uint8_t { No, Yes };

struct Placement {
  const Workload* workload = nullptr;
  StepFacts facts;
  std::vector<const Strategy*> strategies;
  StrategyOptions options;
  Recipe recipe;
  FuseSteps fuse_steps = FuseSteps::Yes;
  UseWinograd winograd = UseWinograd::No;
  int processes = 1;  ///< of servers and workers
  int servers = 0;    ///< that are processes of their own
  int worker_processes = 1;
  bool by_nccl = false;  ///< gradients are summed by NCCL, between GPUs
  int gpus = 1;          ///< of this machine, that places of a run in one process are on
  LaunchSteps launch = LaunchSteps::ByKernel;
  std::optional<EngineRule> engines;  ///< of cuDNN; empty where the CPU computes
};

/// Checks everything that can be checked without data. `train_examples`: of the data set.
/// Throws: RunError(Usage), RunError(Unsupported).
Placement place(const RaceRequest& request, std::int64_t train_examples);

/// How NCCL would sum gradients that are summed by a collective: on GPUs, `ring` or `nccl`; empty
/// where the CPU would.
std::optional<std::string> nccl_algorithm(const RaceRequest& request);

/// Examples from one evaluation to the next: a multiple of the batch, so that every strategy is
/// judged at the same counts.
std::int64_t evaluation_period(const Placement& placement);

/// The step as `--fusion` and `--winograd` want it.
Step as_computed(const Placement& placement, const Step& step);

/// The placed step, whole and not yet partitioned. Throws: RunError(Usage).
Step placed_step(const Placement& placement);

/// Worker, in the record's sense: the places that compute, backup workers left out.
std::int64_t workers_of(const Placement& placement);

/// Replicas beyond those whose gradients make a step.
std::int64_t backup_workers_of(const Placement& placement);

}  // namespace regatta
