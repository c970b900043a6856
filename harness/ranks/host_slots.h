// SPDX-License-Identifier: Apache-2.0
//
// Predicts the host of each process of a run before any process has started. It assumes that mpirun
// and srun fill one host after the other, each up to its slots or tasks; their options can change
// that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace regatta {

inline constexpr std::uintmax_t kMostHostfile = 1 << 20;  // bytes

/// The number of slots of each host in the text of an Open MPI hostfile, in the file's order. Empty
/// if a line has no `slots=N` or a host is listed twice.
std::vector<std::int64_t> slots_in(const std::string& hostfile);

/// The number of processes that each host of a run takes: from the allocation in which mpirun or
/// srun started this process; without an allocation from the hostfile at the path `hostfile`
/// (empty: none), else from the Slurm job. Empty if unknown, or if the run is on this host alone.
/// Throws: RunError(Data) for a hostfile that cannot be read.
std::vector<std::int64_t> slots_of_hosts(const std::string& hostfile);

/// The index in `slots` of each process's host. Empty if there are fewer slots than processes.
std::vector<int> hosts_by_slots(const std::vector<std::int64_t>& slots, int processes);

}  // namespace regatta
