// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "harness/plan/device_name.h"
#include "kernels/base/error.h"
#include "kernels/comm/mpi/mpi_library.h"
#include "kernels/graph/collective.h"
#include "strategies/shared_options.h"

namespace regatta::plan {

namespace {

RunError cannot_deal(const std::string& text) { return {ErrorKind::Usage, text}; }

/// The part that contains `index`.
std::int64_t part_with(std::int64_t index, std::int64_t size, std::int64_t parts) {
  std::int64_t part = 0;
  while (share(size, parts, part).end <= index) ++part;
  return part;
}

/// The number of workers of a replica.
std::int64_t parts_in(const StepFacts& facts) { return facts.stages * facts.shards; }

const char* name_of_part(const StepFacts& facts) { return facts.shards > 1 ? "part" : "stage"; }

/// The places of all workers, ordered by replica, stage and shard.
std::vector<Place> all_workers(const StepFacts& facts) {
  std::vector<Place> all;
  for (int replica = 0; replica < facts.replicas; ++replica) {
    for (int stage = 0; stage < facts.stages; ++stage) {
      for (int shard = 0; shard < facts.shards; ++shard) {
        all.push_back({.replica = replica, .stage = stage, .shard = shard});
      }
    }
  }
  return all;
}

/// The number of processes that hold one replica's workers, with --stages-per-process.
std::int64_t team_of(const Placement& placement) {
  const std::int64_t each = *placement.stages_per_process;
  return (parts_in(placement.facts) + each - 1) / each;
}

/// The index of a worker's process among the processes that have workers.
std::int64_t process_of_worker(const Placement& placement, const Place& place) {
  const std::int64_t replicas = placement.facts.replicas;
  const std::int64_t processes = placement.worker_processes;
  const std::int64_t part = place.stage * placement.facts.shards + place.shard;
  if (placement.stages_per_process) {
    const std::int64_t team = team_of(placement);
    return part_with(place.replica, replicas, processes / team) * team +
           part / *placement.stages_per_process;
  }
  if (processes <= replicas) return part_with(place.replica, replicas, processes);
  const Range own = share(processes, replicas, place.replica);
  return own.begin + part_with(part, parts_in(placement.facts), own.size());
}

void check_teams(const Placement& placement) {
  const std::int64_t each = *placement.stages_per_process;
  const std::int64_t parts = parts_in(placement.facts);
  const std::int64_t replicas = placement.facts.replicas;
  if (each < 1 || each > parts) {
    throw cannot_deal(
        fmt::format("--stages-per-process is {}; a replica has {} {}{}, so 1 to that "
                    "many are possible",
                    each, parts, name_of_part(placement.facts), parts == 1 ? "" : "s"));
  }
  const std::int64_t team = team_of(placement);
  const std::int64_t processes = placement.worker_processes;
  if (processes % team == 0 && processes / team <= replicas) return;
  throw cannot_deal(fmt::format(
      "--processes is {}, but with --stages-per-process {} the {} {}s of a "
      "replica are in {} processes; fix: give --processes {}",
      processes, each, parts, name_of_part(placement.facts), team,
      replicas == 1 ? std::to_string(team) : fmt::format("{} times 1 to {}", team, replicas)));
}

}  // namespace

void check_deal(const Placement& placement) {
  if (placement.stages_per_process) return check_teams(placement);
  const std::int64_t replicas = placement.facts.replicas;
  const std::int64_t parts = parts_in(placement.facts);
  if (placement.worker_processes <= replicas * parts) return;
  throw cannot_deal(fmt::format(
      "--processes is {}, but there {} only {} to deal to them", placement.worker_processes,
      replicas * parts == 1 ? "is" : "are",
      parts == 1 ? fmt::format("{} replica{}", replicas, replicas == 1 ? "" : "s")
                 : fmt::format("{} {}s of {} replica{}", replicas * parts,
                               name_of_part(placement.facts), replicas, replicas == 1 ? "" : "s")));
}

Binding binding_of(const Placement& placement) {
  Binding binding;
  binding.message_bytes = placement.options.count(strategies::kBucketBytes);
  if (placement.processes == 1) return binding;
  std::map<Place, int> process_of;
  for (const Place& place : all_workers(placement.facts)) {
    process_of[place] = placement.servers + static_cast<int>(process_of_worker(placement, place));
  }
  binding.processes = placement.processes;
  binding.process_of = [process_of](const Place& place) {
    if (place.role == Role::Server) return place.stage;
    if (place.role == Role::Host) return 0;
    return process_of.at({place.replica, place.stage, place.shard});
  };
  binding.adds_messages = [on_gpus = placement.on_gpus](const Place& place) {
    return !on_gpus || place.role != Role::Worker;
  };
  return binding;
}

std::vector<std::vector<Place>> workers_by_process(const Placement& placement) {
  std::vector<std::vector<Place>> all(static_cast<std::size_t>(placement.processes));
  for (const Place& place : all_workers(placement.facts)) {
    const std::int64_t process =
        placement.processes > 1 ? placement.servers + process_of_worker(placement, place) : 0;
    all[static_cast<std::size_t>(process)].push_back(place);
  }
  return all;
}

std::vector<Place> worker_places(const Placement& placement, int process) {
  return workers_by_process(placement)[static_cast<std::size_t>(process)];
}

int workers_in(const Placement& placement, int process) {
  return static_cast<int>(worker_places(placement, process).size());
}

bool needs_mpi(const std::vector<Step>& parts) {
  for (const Step& part : parts) {
    for (const Node& node : part.graph.nodes()) {
      if (is_collective(node.op) && node.attributes.has("processes")) return true;
      const bool is_message = node.op == Op::Send || node.op == Op::Receive;
      if (is_message && !is_of_server(node)) return true;
    }
  }
  return false;
}

bool values_travel(const std::vector<Step>& parts) {
  return std::any_of(parts.begin(), parts.end(), [](const Step& part) {
    const auto& nodes = part.graph.nodes();
    return std::any_of(nodes.begin(), nodes.end(),
                       [](const Node& node) { return node.op == Op::Send; });
  });
}

std::string link_between(const Placement& placement) {
  if (placement.facts.servers > 0) return "gRPC";
  if (placement.by_nccl) return "NCCL";
  const bool exchanges =
      placement.facts.sums_gradients || placement.facts.carries_shares || placement.sends_values;
  return exchanges ? std::string(to_string(comm::mpi_library().kind)) : "nothing";
}

std::set<int> exchange_peers(const Step& part) {
  std::set<int> peers;
  for (const Node& node : part.graph.nodes()) {
    const bool is_message = node.op == Op::Send || node.op == Op::Receive;
    if (!is_message || !is_of_server(node)) continue;
    peers.insert(static_cast<int>(node.attributes.integer("peer")));
  }
  if (part.partition.loops <= 1) return peers;
  for (const LoopPart& loop : part.partition.parts) {  // tickets come from a loop's first process
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

}  // namespace regatta::plan
