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

namespace regatta::system {

struct SlurmJob {
  std::string id;
  std::vector<std::string> hosts;
  std::int64_t tasks = 0;           ///< processes that the job may start; 0: not reported by Slurm
  std::vector<std::int64_t> cores;  ///< cores of the job on each host; empty: not reported by Slurm
};

/// The Slurm job of this process; empty outside of Slurm.
std::optional<SlurmJob> slurm_job();

/// The name of a host, other than this one, of the Slurm job or, if srun started this process, of
/// its job step; empty if there is none.
std::string other_host_of_slurm_job();

/// The number of processes of a run, and of cores that each needs; 0 cores: each takes all.
struct RoomWanted {
  std::int64_t processes = 1;
  std::int64_t cores = 0;
};
/// The reason why a run does not fit into the job; empty if it fits.
std::string why_no_room_in(const SlurmJob& job, const RoomWanted& wanted);

/// Expands a list of hosts in Slurm's notation, such as `n[08-10,12],login,r[1-2]c[1-2]`. Empty if
/// `list` is not in this notation.
std::vector<std::string> hosts_in(std::string_view list);

/// Expands a list of counts in Slurm's notation: `2(x3),1` to 2, 2, 2, 1. Empty if `list` is not in
/// this notation.
std::vector<std::int64_t> counts_in(std::string_view list);

}  // namespace regatta::system
