// SPDX-License-Identifier: Apache-2.0
//
// The places of each process. Servers come first, one per process: server s is process s. The later
// processes hold contiguous shares of the replicas, each replica with all its stages. If there are
// more processes than replicas, each replica has a share of the processes, which hold contiguous
// shares of its stages. With --stages-per-process K, teams of processes are formed: each process of
// a team holds K stages of the team's replicas, and the replicas are dealt to the teams. The host's
// place is in the first process.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/plan/placement.h"
#include "kernels/graph/graph.h"
#include "kernels/graph/partition.h"

namespace regatta {

/// The binding of places to processes, for partition().
Binding binding_of(const Placement& placement);

/// Checks that the placement's processes can be dealt its replicas and stages.
/// Throws: RunError(Usage).
void check_deal(const Placement& placement);

/// The workers of a process (replicas and stages) in the order of their places; none for a server.
std::vector<Place> worker_places(const Placement& placement, int process);
/// The number of workers of a process.
int workers_in(const Placement& placement, int process);

/// True if a collective has members in several processes, which meet by MPI even if NCCL carries
/// it, or if values travel between processes other than servers.
bool needs_mpi(const std::vector<Step>& parts);

/// True if values travel between processes other than by collectives: to or from servers, as
/// messages, or as averages. `placed`: the whole step.
bool values_travel(const Placement& placement, const Step& placed);

/// The transport between workers of several processes: `gRPC`, `NCCL`, `Open MPI` or `nothing`.
std::string link_between(const Placement& placement);

/// True if processes exchange values with servers, or tickets with each other.
bool needs_exchange(const std::vector<Step>& parts);

/// The processes with which a part exchanges values to or from servers, or tickets.
std::set<int> exchange_peers(const Step& part);

/// The places that have nodes in a part, as `replica0, replica1`.
std::string places_text(const Step& part);

/// The workers of a process among those of its host.
struct CoreShare {
  int first_worker = 0;  ///< of the process, among the workers of the host
  int workers = 1;       ///< of the process; 0: a server, which may run on all cores
  int workers_on_host = 1;
};
/// The cores of a process, in the order of its workers. With t = threads_per_worker() worker w of
/// the host has the t cores from index w * t on, modulo the number of cores.
std::vector<int> cores_of(const CoreShare& share, const std::vector<int>& all);

/// The workers of a host (servers are not counted), with its cores and GPUs.
struct HostCores {
  int workers = 0;
  int cores = 1;
  int gpus = 0;           ///< used by the workers
  int most_on_a_gpu = 0;  ///< workers on the GPU with the most; 0: none computes on a GPU
};

/// The device of a process, if `--device` is `asked`. Server processes use the CPU, because the
/// gradients and parameters that they add and update pass through the host anyway.
std::string device_of(const Placement& placement, int process, const std::string& asked);

/// Cores of the host divided by its workers; at least 1.
int threads_per_worker(const HostCores& host);

}  // namespace regatta
