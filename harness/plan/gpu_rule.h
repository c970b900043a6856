// SPDX-License-Identifier: Apache-2.0
//
// Which GPUs the places of a run are on, where it is asked for --device cuda: first a process' own
// among those of its host, then a place's among those of its process.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/plan/placement.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// Sets what `placement` says of GPUs and NCCL, by the GPUs that there are.
/// Throws: RunError(Usage) where NCCL would have members that share a GPU, or a GPU would have to
/// choose the pushes that count.
void deal_gpus(const RaceRequest& request, Placement& placement);

/// The first GPU of a process: those of a host that compute take the GPUs that they see in
/// turn.
int gpu_of(int process_on_host, int gpus);

/// On how many of the GPUs that it sees the places of a process are: a run in one process has a GPU
/// for each worker, as far as they go; a process of several has one. So have, in one process,
/// workers of async_shared, whose one copy of the variables is in one GPU's memory, and of
/// all_reduce, which over GPUs is for a process each.
int gpus_of(const Placement& placement, int gpus);

/// How the places of a process are dealt to its GPUs.
struct GpuDeal {
  int gpus = 1;
  std::int64_t stages = 1;  ///< of a replica
};

/// Among the GPUs of its process, in turn by replicas and their stages. A server's is the first:
/// its places share variables. Nothing for the host's place, whose memory and kernels are the
/// host's.
std::optional<int> gpu_of(const Place& place, const GpuDeal& deal);

/// Workers on the GPU that has most of them.
int most_on_a_gpu(int workers, int gpus);

}  // namespace regatta
