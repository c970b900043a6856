// SPDX-License-Identifier: Apache-2.0
//
// The Slurm job of this process, from the variables that Slurm sets in its processes (salloc,
// sbatch, srun; version 22.05 and later).
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
  std::int64_t tasks = 0;           ///< processes for which it has room; 0: not reported by Slurm
  std::vector<std::int64_t> cores;  ///< by host, lent to the job; empty: not reported by Slurm
};

/// The job of this process; empty outside of Slurm.
std::optional<SlurmJob> slurm_job();

/// A host other than this one, of the job or, if srun started this process, of its step; empty if
/// there is none.
std::string other_host_of_slurm_job();

/// The processes of a run, and the cores of each; 0 cores for a run that takes all available ones.
struct RoomWanted {
  std::int64_t processes = 1;
  std::int64_t cores = 0;
};
/// The reason why a run does not fit into the job; empty if it fits.
std::string why_no_room_in(const SlurmJob& job, const RoomWanted& wanted);

/// Expands Slurm's `n[08-10,12],login,r[1-2]c[1-2]`. Empty if it is no such list.
std::vector<std::string> hosts_in(std::string_view list);

/// Expands Slurm's `2(x3),1` to 2, 2, 2, 1. Empty if it is no such list.
std::vector<std::int64_t> counts_in(std::string_view list);

}  // namespace regatta
