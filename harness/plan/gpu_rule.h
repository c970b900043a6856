// SPDX-License-Identifier: Apache-2.0
//
// Assigns GPUs in a run with --device cuda: which GPU of its host each process uses, and whether
// NCCL sums between them.
#pragma once

#include "harness/plan/placement.h"

namespace regatta::plan {

/// Sets `by_nccl` of the placement.
/// Throws: RunError(Usage) if NCCL would have to sum between workers or stages of one process, or
/// if a run with backup workers on GPUs has its servers in the same process.
void deal_gpus(const RaceRequest& request, Placement& placement);

/// Returns the index of a process's GPU. The processes with workers on a host, numbered by
/// `process_on_host`, take the host's `gpus` visible GPUs round-robin.
int gpu_of(int process_on_host, int gpus);

}  // namespace regatta::plan
