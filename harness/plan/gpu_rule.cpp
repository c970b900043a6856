// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/gpu_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/plan/device_name.h"
#include "kernels/base/error.h"
#include "kernels/comm/nccl/nccl_transport.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta::plan {
namespace {

/// True if NCCL is installed and new enough. Cached, because a matrix places many cells.
bool nccl_is_here() {
  static const bool is_here = [] {
    const std::vector<GpuLibrary> all = find_gpu_libraries();
    return comm::version_of_nccl() &&
           std::any_of(all.begin(), all.end(),
                       [](const GpuLibrary& library) { return library.name == "NCCL"; });
  }();
  return is_here;
}

}  // namespace

int gpu_of(int process_on_host, int gpus) { return gpus == 0 ? 0 : process_on_host % gpus; }

void deal_gpus(const RaceRequest& request, Placement& placement) {
  if (is_gpu(request.device) && placement.processes == 1 && placement.facts.has_quorum) {
    throw RunError(ErrorKind::Usage,
                   "--backup-workers beside GPUs wants servers in processes of their own, which "
                   "compute on the CPU; fix: leave --processes out, or give --processes 2 or more");
  }
  const bool is_apart =
      parts_of(placement) == 1 && placement.options.replicas <= placement.worker_processes;
  const StepFacts& facts = placement.facts;
  const std::optional<std::string> algorithm = nccl_algorithm(request);
  // If NCCL cannot carry the shares, a GPU kernel or the host sums the ring beside them.
  const bool wants_sums = facts.sums_tensors && (!facts.carries_shares || algorithm == kNccl);
  placement.by_nccl =
      algorithm && (wants_sums || (facts.carries_shares && is_apart && nccl_is_here()));
  if (!placement.by_nccl || is_apart) return;
  constexpr const char* kInstead =
      "--all-reduce reduce_to_one, which also sums between workers of one GPU";
  const std::string nccl =
      "--all-reduce " + *algorithm + " between GPUs is NCCL's, which wants a GPU for each ";
  if (parts_of(placement) > 1) {
    throw RunError(
        ErrorKind::Usage,
        nccl + "worker, but the stages and shards of a replica share one; fix: use " + kInstead);
  }
  throw RunError(
      ErrorKind::Usage,
      fmt::format("{}worker, but workers of a process share one; fix: give --processes {}, or "
                  "use {}",
                  nccl, placement.options.replicas, kInstead));
}

}  // namespace regatta::plan
