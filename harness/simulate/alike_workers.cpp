// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/alike_workers.h"

#include <algorithm>
#include <map>
#include <vector>

#include "harness/plan/layout.h"
#include "harness/plan/training_options.h"
#include "harness/simulate/virtual_cell.h"

namespace regatta::simulate {
namespace {

using virtual_time::Cluster;
using virtual_time::ComputeTimes;
using virtual_time::VirtualHost;

bool computes_evenly(const ComputeTimes& times) {
  return times.kind == ComputeTimes::Kind::Constant ||
         (times.kind != ComputeTimes::Kind::Samples && times.spread == 0);
}

/// Whether all hosts of the cluster give a worker the same times.
bool hosts_are_alike(const Cluster& cluster) {
  const VirtualHost& first = cluster.hosts.front();
  return std::all_of(cluster.hosts.begin(), cluster.hosts.end(), [&](const VirtualHost& host) {
    return host.cores == first.cores && host.out_bytes_per_ns == first.out_bytes_per_ns &&
           host.in_bytes_per_ns == first.in_bytes_per_ns;
  });
}

/// Renumbers hosts in the order in which they appear, so that two assignments can be compared.
std::vector<int> pattern(const std::vector<int>& hosts) {
  std::map<int, int> numbers;
  std::vector<int> all;
  for (const int host : hosts) {
    all.push_back(numbers.try_emplace(host, static_cast<int>(numbers.size())).first->second);
  }
  return all;
}

/// The assignment of workers to hosts.
class Deal {
 public:
  Deal(const plan::Placement& placement, const ClusterFile& file)
      : placement_(placement), hosts_(hosts_of_processes(file, placement)) {
    const Binding binding = plan::binding_of(placement);
    for (int r = 0; r < replicas(); ++r) {
      for (int s = 0; s < stages(); ++s) {
        for (int t = 0; t < shards(); ++t) {
          const int process = binding.process_of({.replica = r, .stage = s, .shard = t});
          host_of_.push_back(hosts_[static_cast<std::size_t>(process)]);
        }
      }
    }
  }

  /// Whether each host has cores for all its workers.
  bool has_cores(const ClusterFile& file) const {
    std::map<int, int> cores;
    for (const int host : host_of_) cores[host] += file.cluster.threads_per_worker;
    return std::all_of(cores.begin(), cores.end(), [&](const auto& each) {
      return each.second <= file.cluster.hosts[static_cast<std::size_t>(each.first)].cores;
    });
  }

  /// Whether the workers of every replica, and the copies of every worker, are spread over hosts in
  /// one pattern, and two stages share a host for all shards or for none.
  bool is_even() const {
    for (int r = 0; r < replicas(); ++r) {
      if (pattern(of_replica(r)) != pattern(of_replica(0))) return false;
    }
    for (int s = 0; s < stages(); ++s) {
      for (int t = 0; t < shards(); ++t) {
        if (pattern(of_worker(s, t)) != pattern(of_worker(0, 0))) return false;
        for (int other = 0; other < s; ++other) {
          const bool shares = host(0, s, 0) == host(0, other, 0);
          if ((host(0, s, t) == host(0, other, t)) != shares) return false;
        }
      }
    }
    return true;
  }

 private:
  int replicas() const { return static_cast<int>(placement_.facts.replicas); }
  int stages() const { return static_cast<int>(placement_.facts.stages); }
  int shards() const { return static_cast<int>(placement_.facts.shards); }
  int host(int replica, int stage, int shard) const {
    return host_of_[static_cast<std::size_t>((replica * stages() + stage) * shards() + shard)];
  }
  std::vector<int> of_replica(int replica) const {
    const auto begin = host_of_.begin() + replica * stages() * shards();
    return {begin, begin + stages() * shards()};
  }
  std::vector<int> of_worker(int stage, int shard) const {
    std::vector<int> all;
    for (int r = 0; r < replicas(); ++r) all.push_back(host(r, stage, shard));
    return all;
  }

  const plan::Placement& placement_;
  std::vector<int> hosts_;    ///< by process
  std::vector<int> host_of_;  ///< by worker
};

}  // namespace

plan::Placement place_alike(const plan::RaceRequest& request, const ClusterFile& file) {
  const Cluster& cluster = file.cluster;
  const bool may_be_alike = hosts_are_alike(cluster) && computes_evenly(cluster.compute_times) &&
                            request.stragglers.empty() && cluster.machine_cores == 0 &&
                            cluster.queue_bytes == 0;
  if (may_be_alike) {
    plan::Placement placement =
        plan::place_without_data(request, {}, plan::BuildPlaces::OneOfAlike);
    // collectives on devices have closed forms, which allow hosts with unequal numbers of members
    if (placement.options.alike.places() == 1 || cluster.devices) return placement;
    const Deal deal(placement, file);
    if (deal.has_cores(file) && deal.is_even()) return placement;
  }
  return plan::place_without_data(request);
}

}  // namespace regatta::simulate
