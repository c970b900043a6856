// SPDX-License-Identifier: Apache-2.0
//
// The Slurm job that this process is part of, by the variables that Slurm sets in its processes
// (salloc, sbatch, srun; of version 22.05 and later).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regatta {

struct SlurmJob {
  std::string id;
  std::vector<std::string> hosts;
  std::int64_t tasks = 0;           ///< processes for which it has room; 0: Slurm does not say
  std::vector<std::int64_t> cores;  ///< by host, lent to the job; empty: Slurm does not say
};

/// Empty outside of Slurm.
std::optional<SlurmJob> slurm_job();

/// A host of the job, or of the step where srun started this process, that is not this host. Empty:
/// there is none.
std::string other_host_of_slurm_job();

/// Why a run of so many processes, each on so many cores, does not fit into the job; empty: it
/// does. `cores` is 0 for a run that takes what there is.
struct RoomWanted {
  std::int64_t processes = 1;
  std::int64_t cores = 0;
};
std::string why_no_room_in(const SlurmJob& job, const RoomWanted& wanted);

/// The hosts of Slurm's `n[08-10,12],login,r[1-2]c[1-2]` one by one. Empty: it is no such list.
std::vector<std::string> hosts_in(std::string_view list);

/// The numbers of Slurm's `2(x3),1` one by one: 2, 2, 2, 1. Empty: it is no such list.
std::vector<std::int64_t> counts_in(std::string_view list);

}  // namespace regatta
