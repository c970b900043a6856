// SPDX-License-Identifier: Apache-2.0
//
// Which host each process of a run will be on, before one has started: as mpirun and srun deal them
// unless they are told otherwise, host after host, each as many as it has slots or tasks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace regatta {

inline constexpr std::uintmax_t kMostHostfile = 1 << 20;  // bytes

/// Slots of the hosts in the text of an Open MPI hostfile, in its order. Empty: not all of them are
/// said, or one host stands there twice.
std::vector<std::int64_t> slots_in(const std::string& hostfile);

/// Of a run with this hostfile (empty: none), of mpirun's or srun's allocation that this process is
/// in, or of its Slurm job. Empty: unknown, or this host alone.
/// Throws: RunError(Data) for a hostfile that cannot be read.
std::vector<std::int64_t> slots_of_hosts(const std::string& hostfile);

/// The host of each process. Empty where the slots are too few.
std::vector<int> hosts_by_slots(const std::vector<std::int64_t>& slots, int processes);

}  // namespace regatta
