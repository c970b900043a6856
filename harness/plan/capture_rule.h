// SPDX-License-Identifier: Apache-2.0
//
// Which runs launch their steps as one CUDA graph (kernels/runtime/capture/captured_loop.h). The
// rule: on a GPU, where the host has no part in a step. It has one where gradients or parameters
// pass through it: to and from processes of servers, in all_reduce between processes but by NCCL
// (replicas of one process are summed by a kernel of their GPU,
// kernels/comm/collective/queued_sum.h), and under central_storage, which updates on it; and where
// single kernels are looked at, by --straggler and
// --trace. All of it has to be on one GPU: a CUDA graph here is recorded from streams of one.
#pragma once

#include <string>

#include "harness/plan/placement.h"

namespace regatta {

/// Why the run's steps cannot be launched as one; empty: they can.
std::string why_not_captured(const RaceRequest& request, const Placement& placement);

/// As --cuda-graph asks: `auto` is `on` where it can be.
/// Throws: RunError(Usage) for `on` where it cannot.
LaunchSteps launch_of_steps(const RaceRequest& request, const Placement& placement);

}  // namespace regatta
