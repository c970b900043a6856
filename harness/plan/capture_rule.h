// SPDX-License-Identifier: Apache-2.0
//
// Decides whether a run launches each step as one CUDA graph
// (kernels/runtime/capture/captured_loop.h). That is possible if each process computes on one GPU,
// whose streams the graph records, and the host takes no part in a step. The host takes part
//   - if gradients, parameters or shares of them (--shard, top_k) pass through it: to and from
//     server processes, between other processes unless NCCL carries them, and between replicas of
//     one process in sums by double_tree and torus (other exchanges between these are kernels on
//     their GPU, kernels/comm/collective/queued_collective.h)
//   - if it chooses which pushes a step uses, with backup workers
//   - if it holds and updates the parameters, under central_storage
//   - if workers exchange only in some steps
//   - if it delays a worker within a step (--straggler) or records single kernels (--trace)
#pragma once

#include <string>

#include "harness/plan/placement.h"

namespace regatta::plan {

/// Returns the reason why the run's steps cannot be captured as CUDA graphs; empty if they can.
std::string why_not_captured(const RaceRequest& request, const Placement& placement);

/// Applies --cuda-graph to the steps: `auto` captures them if that is possible.
/// Throws: RunError(Usage) for `on` if it is impossible.
LaunchSteps launch_of_steps(const RaceRequest& request, const Placement& placement);

/// Applies --cuda-graph to evaluations, which can always be captured on a GPU.
LaunchSteps launch_of_evaluations(const RaceRequest& request);

/// Returns the recipe with an evaluation batch that suits the device. A small batch leaves most of
/// a GPU idle, so on a GPU it is enlarged to 2,000 if that divides `examples`, the number of
/// examples to evaluate. Results do not change.
workloads::Recipe evaluated_recipe(const RaceRequest& request, const workloads::Recipe& recipe,
                                   std::int64_t examples);

}  // namespace regatta::plan
