// SPDX-License-Identifier: Apache-2.0
#include "harness/torus_of_hosts.h"

#include <algorithm>
#include <set>
#include <vector>

#include "harness/plan/layout.h"
#include "harness/plan/training_options.h"
#include "harness/ranks/host_slots.h"
#include "harness/simulate/cluster_file.h"
#include "harness/simulate/virtual_cell.h"
#include "harness/system/machine.h"
#include "kernels/graph/collective.h"
#include "strategies/shared_options.h"

namespace regatta {
namespace {

bool may_lack_sides(const RaceRequest& request) {
  const std::string algorithm = StrategyOptions{.given = request.options}.choice(kAlgorithm);
  return algorithm == kTorus && !request.options.contains(kTorusSides.name);
}

std::vector<int> hosts_of_request(const RaceRequest& request, const Placement& placement) {
  if (request.cluster.empty()) {
    return hosts_by_slots(slots_of_hosts(request.hosts), placement.processes);
  }
  return hosts_of_processes(
      read_cluster(request.cluster, machine_facts().cpu, software_facts().git_commit), placement);
}

/// The host of each replica's first stage, in the order of replicas; other stages are laid out
/// alike.
std::vector<int> hosts_of_replicas(const Placement& placement, const std::vector<int>& host_of) {
  std::vector<int> hosts;
  for (int process = 0; process < placement.processes; ++process) {
    for (const Place& place : worker_places(placement, process)) {
      if (place.stage == 0) hosts.push_back(host_of[static_cast<std::size_t>(process)]);
    }
  }
  return hosts;
}

}  // namespace

std::int64_t members_on_host(std::span<const int> host_of_member) {
  const auto members = std::ssize(host_of_member);
  if (members == 0) return 0;
  const auto differs = std::find_if(host_of_member.begin(), host_of_member.end(),
                                    [&](int host) { return host != host_of_member.front(); });
  const auto columns = differs - host_of_member.begin();
  if (columns == 1 || columns == members || members % columns != 0) return 0;
  std::set<int> seen;
  for (auto row = host_of_member.begin(); row != host_of_member.end(); row += columns) {
    const bool is_one = std::all_of(row, row + columns, [&](int host) { return host == *row; });
    if (!is_one || !seen.insert(*row).second) return 0;
  }
  return columns;
}

RaceRequest with_torus_of_hosts(const RaceRequest& request) {
  return may_lack_sides(request) ? with_replicas_on_host(request) : request;
}

RaceRequest with_replicas_on_host(const RaceRequest& request) {
  const Placement placement = place_without_data(request);
  if (placement.processes == 1) return request;
  const std::vector<int> hosts = hosts_of_request(request, placement);
  if (hosts.empty()) return request;
  RaceRequest sided = request;
  sided.replicas_on_host = members_on_host(hosts_of_replicas(placement, hosts));
  return sided;
}

}  // namespace regatta
