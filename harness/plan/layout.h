// SPDX-License-Identifier: Apache-2.0
//
// Which process holds which places. Servers come first, one a process: server s is process s. The
// workers' replicas are dealt to the processes after them in contiguous shares, whole replicas
// with all their stages.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/plan/placement.h"
#include "kernels/graph/graph.h"
#include "kernels/graph/partition.h"

namespace regatta {

/// For partition(). One process where the placement has one.
Binding binding_of(const Placement& placement);

/// Workers (replicas times stages) of a process; 0 for a server.
int workers_in(const Placement& placement, int process);

/// True when a collective has members in several processes, which meet by MPI at least.
bool needs_mpi(const std::vector<Step>& parts);

/// What carries bytes between its workers: `gRPC`, `NCCL`, `Open MPI`, `nothing`.
std::string link_between(const Placement& placement);

/// True when values travel between processes by send and receive.
bool needs_exchange(const std::vector<Step>& parts);

/// The processes with which a part exchanges values or tickets.
std::set<int> exchange_peers(const Step& part);

/// The places that have nodes in a part, as `replica0, replica1`.
std::string places_text(const Step& part);

/// The cores of one process among the workers of its host, in the order of its workers: worker w of
/// the host has `threads` cores from number w * threads on, counted round.
struct CoreShare {
  int first_worker = 0;  ///< of the process, among the workers of the host
  int workers = 1;       ///< of the process; 0: a server, which floats over all cores
  int workers_on_host = 1;
};
std::vector<int> cores_of(const CoreShare& share, const std::vector<int>& all);

/// Who computes on a host, servers left out, and on how many cores.
struct HostCores {
  int workers = 0;
  int cores = 1;
  int gpus = 0;           ///< that they are on
  int most_on_a_gpu = 0;  ///< workers that share one; 0: no worker computes on a GPU
};

/// What a process computes on, where `--device` asks for one. Servers compute on the CPU: they only
/// add and update what passes through the host in any case.
std::string device_of(const Placement& placement, int process, const std::string& asked);

/// Cores of each worker, where so many share so many. At least 1.
int threads_per_worker(const HostCores& host);

}  // namespace regatta
