// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/training_options.h"

#include <algorithm>

#include "harness/plan/layout.h"
#include "harness/plan/race_flags.h"
#include "kernels/base/error.h"

namespace regatta::plan {
namespace {

constexpr std::size_t kTraceEvents = 200'000;  // per lane

/// The stragglers of a process, by index among its workers in the order of their places.
std::map<int, double> stragglers_in(const RaceRequest& request, const Placement& placement,
                                    int process) {
  const std::vector<Place> workers = worker_places(placement, process);
  const auto stages = static_cast<int>(placement.facts.stages);
  const auto shards = static_cast<int>(placement.facts.shards);
  std::map<int, double> stragglers;
  for (const auto& [worker, factor] : request.stragglers) {
    const Place place{.replica = worker / (stages * shards),
                      .stage = worker / shards % stages,
                      .shard = worker % shards};
    const auto found = std::find(workers.begin(), workers.end(), place);
    if (found != workers.end()) stragglers[static_cast<int>(found - workers.begin())] = factor;
  }
  return stragglers;
}

}  // namespace

workloads::DataFiles files_of(const RaceRequest& request) {
  return {.folder = request.data_dir,
          .check = request.data == "unverified" ? workloads::DataCheck::Unverified
                                                : workloads::DataCheck::Verified,
          .options = {.given = request.options}};
}

Placement place_without_data(const RaceRequest& request, const strategies::PassWatch& watch,
                             BuildPlaces build) {
  const workloads::Workload& workload = workloads::find_workload(request.workload);
  const std::string dataset = dataset_of(request, workload);
  return place(request, workloads::sizes_of(workload, dataset, files_of(request)).train, watch,
               build);
}

ExecutorOptions executor_options(const RaceRequest& request, const Placement& placement,
                                 const DataSet& train, int process) {
  ExecutorOptions options;
  options.seed = request.seed;
  options.data = &train;
  options.max_examples = placement.recipe.total_examples;
  options.stragglers = stragglers_in(request, placement, process);
  options.trace_events = request.trace.empty() ? 0 : kTraceEvents;
  options.rules.loss = request.on_loss;
  // NCCL needs the same order of buckets at all ranks, so all of them are in one lane.
  if (placement.by_nccl) options.plan.inline_bytes = 0;
  options.launch = placement.launch;
  return options;
}

}  // namespace regatta::plan
