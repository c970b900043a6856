// SPDX-License-Identifier: Apache-2.0
//
// The GPUs of a run with --device cuda: which GPUs of its host a process uses, and which of those a
// place uses.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/plan/placement.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// Sets the fields of `placement` on GPUs and NCCL from the GPUs of this machine.
/// Throws: RunError(Usage) if NCCL would sum between workers or stages of one process, or if backup
/// workers on GPUs would have their servers in the same process.
void deal_gpus(const RaceRequest& request, Placement& placement);

/// The first GPU of a process: the processes of a host that have workers take its `gpus` visible
/// GPUs round-robin.
int gpu_of(int process_on_host, int gpus);

/// The number of its `gpus` visible GPUs that a process uses. A run in one process uses one for
/// each worker, as far as there are enough. A process uses only one if the run has several
/// processes, if workers share variables (async_shared, ad_psgd), which are in one GPU's memory, or
/// if a collective sums gradients (all_reduce) or carries shares (sharded, top_k), which over
/// several GPUs needs one process per GPU.
int gpus_of(const Placement& placement, int gpus);

/// The division of a process's places among its GPUs.
struct GpuDeal {
  int gpus = 1;
  std::int64_t stages = 1;  ///< of a replica
};

/// The GPU of a place among those of its process: round-robin by replica and stage. The places of
/// servers share variables and are all on the first GPU. Empty for the host's place, which uses the
/// host's memory and kernels.
std::optional<int> gpu_of(const Place& place, const GpuDeal& deal);

/// Workers on the GPU with the most workers.
int most_on_a_gpu(int workers, int gpus);

}  // namespace regatta
