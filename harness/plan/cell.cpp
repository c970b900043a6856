// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/cell.h"

#include <algorithm>
#include <limits>

#include "harness/plan/device_name.h"
#include "harness/plan/gpu_rule.h"

namespace regatta::plan {

record::Cell cell_of(const RaceRequest& request, const Placement& placement,
                     const CellFacts& facts) {
  record::Cell cell = request;
  cell.recipe = placement.workload->recipe;
  cell.dataset = facts.dataset;
  cell.options = placement.recipe.options.given;
  for (const Option* option : strategies::options_of(placement.strategies)) {
    if (const auto value = placement.options.find(*option)) {
      cell.options.emplace(option->name, *value);
    }
  }
  for (const Option* option : strategies::options_of_passes()) {
    const auto given = placement.options.given.find(option->name);
    if (given != placement.options.given.end() &&
        !strategies::changes_nothing(*option, given->second)) {
      cell.options.insert(*given);
    }
  }
  cell.workers = workers_of(placement);
  cell.stages = parts_of(placement);
  cell.processes = placement.processes;
  if (is_gpu(request.device)) {
    cell.cuda_graph = placement.launch == LaunchSteps::AsOne ? "on" : "off";
    cell.cudnn_engine = "timed";
  }
  cell.winograd = placement.winograd == UseWinograd::Yes ? "on" : "off";
  cell.global_batch = placement.recipe.global_batch;
  const auto computing = static_cast<int>(cell.workers + backup_workers_of(placement));
  // One process has one GPU. Of several, ranks report theirs when they are ready.
  HostCores host{.workers = computing, .cores = facts.cores};
  if (is_gpu(cell.device)) {
    host.gpus = 1;
    host.most_on_a_gpu = computing;
  }
  count_cores({host}, cell);
  for (const auto& [worker, factor] : request.stragglers) {
    cell.straggler.push_back({.worker = worker, .factor = factor});
  }
  return cell;
}

void count_cores(const std::vector<HostCores>& hosts, record::Cell& cell) {
  cell.threads_per_worker = std::numeric_limits<std::int64_t>::max();
  cell.oversubscribed = false;
  cell.shared_gpu = false;
  if (is_gpu(cell.device)) cell.gpus = 0;
  for (const HostCores& host : hosts) {
    if (host.workers == 0) continue;
    if (cell.gpus) *cell.gpus += host.gpus;
    cell.threads_per_worker =
        std::min<std::int64_t>(cell.threads_per_worker, threads_per_worker(host));
    cell.oversubscribed = cell.oversubscribed || host.workers > host.cores;
    cell.shared_gpu = cell.shared_gpu || host.most_on_a_gpu > 1;
  }
}

}  // namespace regatta::plan
