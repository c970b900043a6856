// SPDX-License-Identifier: Apache-2.0
//
// Assigns places to processes. Server s is process s. The other processes share the replicas in
// contiguous ranges. The workers of a replica follow its stages, and within a stage its shards. If
// there are more such processes than replicas, each replica has several processes, which share its
// workers in contiguous ranges. With --stages-per-process K, processes form teams, and each team
// has a contiguous range of the replicas: each process of a team holds K workers of each of these
// replicas. The host's place is in the first process.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/plan/placement.h"
#include "kernels/distribute/partition.h"
#include "kernels/graph/graph.h"

namespace regatta::plan {

/// Returns the assignment of places to processes, for partition().
Binding binding_of(const Placement& placement);

/// Checks that replicas and stages can be divided among the placement's processes.
/// Throws: RunError(Usage) if they cannot.
void check_deal(const Placement& placement);

/// Returns the workers' places in each process, ordered by replica, stage and shard; none for a
/// server.
std::vector<std::vector<Place>> workers_by_process(const Placement& placement);
std::vector<Place> worker_places(const Placement& placement, int process);
int workers_in(const Placement& placement, int process);

/// Whether the run needs MPI. It does if a collective spans processes, because MPI connects them
/// even if NCCL carries the values, or if processes that are not servers send each other messages.
/// `parts[p]` is the part of process p.
bool needs_mpi(const std::vector<Step>& parts);

/// Whether processes exchange values other than by collectives: through servers, messages or
/// averages. `parts[p]` is the part of process p.
bool values_travel(const std::vector<Step>& parts);

/// Returns the transport between workers of different processes: `gRPC`, `NCCL`, `Open MPI`, or
/// `nothing` if they exchange nothing.
std::string link_between(const Placement& placement);

/// Whether any process has exchange_peers(). `parts[p]` is the part of process p.
bool needs_exchange(const std::vector<Step>& parts);

/// Returns the processes with which the process of `part` exchanges server values, or the tickets
/// that loops spanning several processes need to take steps.
std::set<int> exchange_peers(const Step& part);

/// Lists the places that have nodes in a part: `replica0, replica1`.
std::string places_text(const Step& part);

/// The position of a process's workers among all workers of its host.
struct CoreShare {
  int first_worker = 0;     ///< index of the process's first worker among those of the host
  int workers = 1;          ///< workers of the process; 0: a server, which may run on all cores
  int workers_on_host = 1;  ///< workers of all processes on the host
};
/// Returns the cores of a process, worker by worker. `all` are the cores of the host. Worker w of
/// the host gets t = threads_per_worker() cores, starting at index w * t modulo the number of
/// cores.
std::vector<int> cores_of(const CoreShare& share, const std::vector<int>& all);

/// The numbers of workers, cores and GPUs of a host.
struct HostCores {
  int workers = 0;  ///< without servers
  int cores = 1;
  int gpus = 0;           ///< number of GPUs that the workers use
  int most_on_a_gpu = 0;  ///< workers on the GPU with the most workers; 0: no GPU is used
};

/// Returns the device of a process in a run with `--device` set to `asked`. A server process always
/// uses the CPU, because the gradients that it adds and the parameters that it updates pass through
/// the host anyway.
std::string device_of(const Placement& placement, int process, const std::string& asked);

/// Returns the host's number of cores divided by its number of workers, at least 1.
int threads_per_worker(const HostCores& host);

}  // namespace regatta::plan
