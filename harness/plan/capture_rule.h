// SPDX-License-Identifier: Apache-2.0
//
// The rule by which a run launches each step as one CUDA graph
// (kernels/runtime/capture/captured_loop.h): each process computes on one GPU, because a graph is
// recorded from streams of one GPU, and the host has no part in a step. The host has a part
//   - if gradients, parameters or shares of them (--shard, top_k) pass through it: to and from
//     server processes, and between processes except by NCCL (an exchange of replicas in one
//     process is a kernel of their GPU, kernels/comm/collective/queued_collective.h, except for
//     sums in the order of double_tree and torus)
//   - if it chooses the pushes that count, for backup workers
//   - if it holds and updates the parameters, under central_storage
//   - if workers exchange in some steps only
//   - if it delays a worker within its steps or looks at single kernels, by --straggler, --trace
#pragma once

#include <string>

#include "harness/plan/placement.h"

namespace regatta {

/// Why the run's steps cannot be captured; empty if they can.
std::string why_not_captured(const RaceRequest& request, const Placement& placement);

/// Applies --cuda-graph: `auto` captures if that is possible.
/// Throws: RunError(Usage) for `on` if capture is impossible.
LaunchSteps launch_of_steps(const RaceRequest& request, const Placement& placement);

/// Like launch_of_steps(), for evaluations, in which the host never has a part.
LaunchSteps launch_of_evaluations(const RaceRequest& request);

/// The recipe with the evaluation batch that suits the device. A small batch leaves most of a GPU
/// idle, so there it is enlarged if the larger one divides `examples`, the number evaluated. No
/// result changes.
Recipe evaluated_recipe(const RaceRequest& request, const Recipe& recipe, std::int64_t examples);

}  // namespace regatta
