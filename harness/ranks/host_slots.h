// SPDX-License-Identifier: Apache-2.0
//
// The host of each process of a run, before one has started. mpirun and srun fill host after host,
// each up to its slots or tasks, unless their options differ.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace regatta {

inline constexpr std::uintmax_t kMostHostfile = 1 << 20;  // bytes

/// Slots of the hosts in the text of an Open MPI hostfile, in its order. Empty: some are not given,
/// or a host is listed twice.
std::vector<std::int64_t> slots_in(const std::string& hostfile);

/// The slots of a run with this hostfile (empty: none), else of the allocation by mpirun or srun
/// that has this process, else of its Slurm job. Empty: unknown, or this host alone.
/// Throws: RunError(Data) for a hostfile that cannot be read.
std::vector<std::int64_t> slots_of_hosts(const std::string& hostfile);

/// The host of each process. Empty if the slots are too few.
std::vector<int> hosts_by_slots(const std::vector<std::int64_t>& slots, int processes);

}  // namespace regatta
