// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/layout.h"

#include <algorithm>
#include <set>

#include "harness/plan/device_name.h"
#include "kernels/graph/collective.h"
#include "strategies/shared_options.h"

namespace regatta {

Binding binding_of(const Placement& placement) {
  Binding binding;
  binding.message_bytes = placement.options.count(kBucketBytes);
  if (placement.processes == 1) return binding;
  std::vector<int> process_of_replica;
  for (int p = 0; p < placement.worker_processes; ++p) {
    const Range replicas = share(placement.facts.replicas, placement.worker_processes, p);
    process_of_replica.insert(process_of_replica.end(), static_cast<std::size_t>(replicas.size()),
                              placement.servers + p);
  }
  binding.processes = placement.processes;
  binding.process_of = [process_of_replica](const Place& place) {
    if (place.role == Role::Server) return place.stage;
    if (place.role == Role::Host) return 0;
    return process_of_replica.at(static_cast<std::size_t>(place.replica));
  };
  return binding;
}

int workers_in(const Placement& placement, int process) {
  if (process < placement.servers) return 0;
  const Range replicas =
      share(placement.facts.replicas, placement.worker_processes, process - placement.servers);
  return static_cast<int>(replicas.size() * placement.options.stages);
}

bool needs_mpi(const std::vector<Step>& parts) {
  for (const Step& part : parts) {
    for (const Node& node : part.graph.nodes()) {
      if (node.op == Op::AllReduce && node.attributes.has("processes")) return true;
    }
  }
  return false;
}

std::string link_between(const Placement& placement) {
  if (placement.facts.servers > 0) return "gRPC";
  if (placement.by_nccl) return "NCCL";
  return exchange_of(placement.strategies) == Exchange::Nothing ? "nothing" : "Open MPI";
}

std::set<int> exchange_peers(const Step& part) {
  std::set<int> peers;
  for (const Node& node : part.graph.nodes()) {
    if (node.op != Op::Send && node.op != Op::Receive) continue;
    peers.insert(static_cast<int>(node.attributes.integer("peer")));
  }
  if (part.partition.loops <= 1) return peers;
  for (const LoopPart& loop : part.partition.parts) {  // tickets come from the first process
    const int leader = loop.processes.front();
    if (leader == part.partition.process) {
      peers.insert(loop.processes.begin() + 1, loop.processes.end());
    } else {
      peers.insert(leader);
    }
  }
  return peers;
}

bool needs_exchange(const std::vector<Step>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [](const Step& part) { return !exchange_peers(part).empty(); });
}

std::string places_text(const Step& part) {
  std::set<Place> places;
  for (const Node& node : part.graph.nodes()) places.insert(node.place);
  std::string text;
  for (const Place& place : places) text += (text.empty() ? "" : ", ") + to_string(place);
  return text;
}

std::vector<int> cores_of(const CoreShare& share, const std::vector<int>& all) {
  if (share.workers == 0 || all.empty()) return all;
  const int threads =
      threads_per_worker({.workers = share.workers_on_host, .cores = static_cast<int>(all.size())});
  std::vector<int> cores;
  for (int i = 0; i < share.workers * threads; ++i) {
    const auto index = static_cast<std::size_t>(share.first_worker * threads + i);
    cores.push_back(all[index % all.size()]);
  }
  return cores;
}

std::string device_of(const Placement& placement, int process, const std::string& asked) {
  return workers_in(placement, process) == 0 ? std::string(kCpu) : asked;
}

int threads_per_worker(const HostCores& host) {
  return std::max(1, host.cores / std::max(1, host.workers));
}

}  // namespace regatta
