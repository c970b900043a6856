// SPDX-License-Identifier: Apache-2.0
//
// Assigns GPUs in a run with --device cuda: which GPUs of its host each process uses, and which of
// them each place uses.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/plan/placement.h"
#include "kernels/graph/graph.h"

namespace regatta::plan {

/// Sets `gpus` and `by_nccl` of the placement, given the GPUs of this machine.
/// Throws: RunError(Usage) if NCCL would have to sum between workers or stages of one process, or
/// if a run with backup workers on GPUs has its servers in the same process.
void deal_gpus(const RaceRequest& request, Placement& placement);

/// Returns the index of a process's first GPU. The processes with workers on a host, numbered by
/// `process_on_host`, take the host's `gpus` visible GPUs round-robin.
int gpu_of(int process_on_host, int gpus);

/// Returns how many of its `gpus` visible GPUs a process uses. A run in one process uses one per
/// worker, or all if there are fewer. A process uses only one GPU if the run has several
/// processes; if workers share variables (async_shared, ad_psgd), which are in the memory of one
/// GPU; or if collectives sum gradients (all_reduce) or carry shares (sharded, top_k), because a
/// collective over several GPUs needs one process per GPU.
int gpus_of(const Placement& placement, int gpus);

/// The numbers from which gpu_of() computes the GPU of a place.
struct GpuDeal {
  int gpus = 1;             ///< number of GPUs that the process uses
  std::int64_t stages = 1;  ///< number of stages per replica
  std::int64_t shards = 1;  ///< number of shards per stage
};

/// Returns the index of a place's GPU among those of its process. Workers take the GPUs round-robin
/// by replica, stage and shard. Servers share variables, so their places are all on the first GPU.
/// Empty for the host's place, which uses the host's memory and kernels.
std::optional<int> gpu_of(const Place& place, const GpuDeal& deal);

/// Returns the number of workers on the GPU with the most workers.
int most_on_a_gpu(int workers, int gpus);

}  // namespace regatta::plan
