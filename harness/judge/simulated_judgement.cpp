// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/simulated_judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "harness/judge/cell_identity.h"

namespace regatta {
namespace {

using SimulatedRuns = std::vector<const Record*>;

constexpr int kNotSaid = -1;  // absent in older records

/// A key of the runs that a study may compare, except for their batches. The length is a setting
/// where something is learnt; otherwise it is only the duration of measuring.
std::string study_key(const Record& run) {
  const Simulated& simulated = *run.simulated;
  const bool learns = !run.evaluations.empty();
  std::string key = simulated.mode + '|' + simulated.source;
  if (const auto& hardware = simulated.hardware) {
    key +=
        fmt::format("|{}|{}|{}|{}|{}|{}", hardware->cpu, hardware->compute_times, hardware->spread,
                    hardware->server_cores, hardware->queue_bytes.value_or(kNotSaid),
                    hardware->machine_cores.value_or(kNotSaid));
  }
  for (const Trait& trait : traits_of(run)) {
    const std::string& name = trait.name;
    const bool is_length = name == "steps" || name == "epochs" || name == "evaluate";
    const bool counts = trait.part.role == Trait::Role::Setting
                            ? name != "global_batch" && (learns || !is_length)
                            : name == "straggler" || name == "threads_per_worker";
    if (!counts) continue;
    // A batch that grows with the workers has equal totals of examples and equal rates per example.
    if (learns && name == "steps") {
      key += fmt::format("|examples={}", run.cell.steps.value_or(0) * run.cell.global_batch);
    } else if (learns && name == "rate_scale") {
      key +=
          fmt::format("|rate={}", run.cell.rate_scale / static_cast<double>(run.cell.global_batch));
    } else {
      key += fmt::format("|{}={}", name, trait.value);
    }
  }
  return key;
}

double share_of(const Record& run) {
  return static_cast<double>(run.cell.global_batch) /
         static_cast<double>(std::max<std::int64_t>(run.cell.workers, 1));
}

/// A key of the points of one line: strategy, options, stages, and whether workers share processes.
std::string way_key(const Record& run) {
  const Cell& cell = run.cell;
  const std::string dealt = cell.processes < cell.workers ? std::to_string(cell.processes) : "own";
  std::string key = cell.strategy + '|' + dealt + '|' + std::to_string(cell.stages);
  for (const auto& [name, value] : cell.options) {
    key += fmt::format("|{}={}", name, to_text(value));
  }
  return key;
}

SimulatedLink link_of(const Simulated& simulated) {
  const auto& hardware = simulated.hardware;
  if (!hardware) return {.cluster = simulated.cluster};
  return {.bytes_per_s = hardware->link_bytes_per_s.value_or(kInfinity),
          .latency_ns = hardware->latency_ns,
          .core_bytes_per_s = hardware->core_bytes_per_s.value_or(kInfinity),
          .cluster = {}};
}

SimulatedPoint point_of(const SimulatedRuns& runs) {
  std::vector<double> steps;
  for (const Record* run : runs) {
    steps.push_back(static_cast<double>(run->step_time_ns.p50) * 1e-9);
  }
  return {.workers = runs.front()->cell.workers,
          .cell = judge_cell(runs),
          .step_seconds = median_interval(steps).median};
}

SimulatedStudy study_of(const SimulatedRuns& runs) {
  SimulatedStudy study;
  std::set<SimulatedLink> links;
  for (const Record* run : runs) links.insert(link_of(*run->simulated));
  study.links.assign(links.begin(), links.end());

  std::map<std::string, std::size_t> ways;
  std::map<std::tuple<std::size_t, std::size_t, std::int64_t>, SimulatedRuns> points;
  for (const Record* run : runs) {
    const auto [way, is_new] = ways.try_emplace(way_key(*run), study.ways.size());
    if (is_new) study.ways.push_back(run);
    const auto link = std::distance(links.begin(), links.find(link_of(*run->simulated)));
    points[{way->second, static_cast<std::size_t>(link), run->cell.workers}].push_back(run);
  }
  for (const auto& [key, of_point] : points) {
    SimulatedPoint point = point_of(of_point);
    std::tie(point.way, point.link, std::ignore) = key;
    if (point.workers == 1) {
      study.one_worker = std::max(study.one_worker.value_or(0), speed_of(point));
    }
    study.points.push_back(std::move(point));
  }
  return study;
}

/// Splits runs by batch or by share of a batch, whichever makes fewer studies.
std::vector<SimulatedStudy> studies_of(const SimulatedRuns& runs) {
  std::map<std::int64_t, SimulatedRuns> by_batch;
  std::map<double, SimulatedRuns> by_share;
  for (const Record* run : runs) {
    by_batch[run->cell.global_batch].push_back(run);
    by_share[share_of(*run)].push_back(run);
  }
  std::vector<SimulatedStudy> studies;
  const bool batch_grows = by_share.size() < by_batch.size();
  const auto add = [&](const auto& groups) {
    for (const auto& [key, group] : groups) {
      studies.push_back(study_of(group));
      studies.back().batch_grows = batch_grows;
    }
  };
  if (batch_grows) {
    add(by_share);
  } else {
    add(by_batch);
  }
  return studies;
}

}  // namespace

double speed_of(const SimulatedPoint& point) { return 1 / point.cell.seconds_per_example->median; }

std::vector<SimulatedStudy> judge_simulated(std::span<const Record> records) {
  std::map<std::string, std::size_t> keys;
  std::vector<SimulatedRuns> groups;
  std::set<std::string> seen;
  for (const Record& record : records) {
    const bool tells = record.examples_per_s > 0 && record.cell.workers > 0;
    if (!tells || record.status == Status::Failed) continue;
    if (!record.run_id.empty() && !seen.insert(record.run_id).second) continue;
    const auto [group, is_new] = keys.try_emplace(study_key(record), groups.size());
    if (is_new) groups.emplace_back();
    groups[group->second].push_back(&record);
  }
  std::vector<SimulatedStudy> studies;
  for (const SimulatedRuns& group : groups) {
    for (SimulatedStudy& study : studies_of(group)) studies.push_back(std::move(study));
  }
  return studies;
}

}  // namespace regatta
