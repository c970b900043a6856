// SPDX-License-Identifier: Apache-2.0
#include "harness/expected_time.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/cell.h"
#include "harness/cell_runs.h"
#include "harness/checkout.h"
#include "harness/child.h"
#include "harness/command_line.h"
#include "harness/placement.h"
#include "harness/record_reader.h"
#include "harness/statistics.h"
#include "harness/training_options.h"
#include "kernels/graph/error.h"

namespace regatta {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShortSteps = "3";

/// Of the runs that finished and for which `counts` holds, by their time or by their pace.
template <typename Counts, typename Seconds>
std::optional<double> median_of(std::span<const FinishedRun> runs, const Counts& counts,
                                const Seconds& seconds) {
  std::vector<double> all;
  for (const FinishedRun& run : runs) {
    if (run.status != Status::Failed && run.examples > 0 && counts(run)) {
      all.push_back(seconds(run));
    }
  }
  if (all.empty()) return std::nullopt;
  return median_interval(all).median;
}

/// Whether a folder of records is of a machine, which its first one tells.
bool is_of(const MachineFacts& machine, const fs::path& folder) {
  std::ifstream file(folder / "records.jsonl");
  std::string line;
  if (!std::getline(file, line)) return false;
  try {
    const MachineFacts recorded = record_from_json(line).machine;
    return recorded.cpu == machine.cpu && recorded.isa == machine.isa &&
           recorded.cores_available == machine.cores_available;
  } catch (const RunError&) {
    return false;
  }
}

/// The first of the workload's that needs no files.
std::string made_data_set(const Workload& workload) {
  const auto& sets = workload.data_sets;
  const auto made = std::find_if(sets.begin(), sets.end(), is_made);
  return std::string(made == sets.end() ? sets.front() : *made);
}

}  // namespace

RunLength run_length(const MatrixCell& cell) {
  const RaceRequest request = parse_run(cell.arguments);
  const Placement placement = placement_of(cell);
  const Recipe& recipe = placement.recipe;
  Record record;
  record.cell = cell_of(request, placement, {.dataset = dataset_of(request, *placement.workload)});
  record.target.value = request.target.value_or(placement.workload->target);
  record.command = request.command;
  return {
      .cell = cell_name(record),
      .workload = request.workload,
      .strategy = request.strategy,
      .dtype = request.dtype,
      .device = request.device,
      .examples = static_cast<double>(recipe.total_examples),
      .evaluations = static_cast<double>(recipe.total_examples / evaluation_period(placement) + 1)};
}

std::string to_string(Basis basis) {
  switch (basis) {
    case Basis::CellHere: return "runs of the same cell here";
    case Basis::CellCommitted: return "committed runs of the same cell";
    case Basis::Strategy: return "other runs of the workload and strategy";
    case Basis::Workload: return "other runs of the workload";
    case Basis::ShortRun: return "a short run of single";
  }
  return "";
}

std::optional<ExpectedTime> expected_time(const RunLength& run, const KnownRuns& known) {
  const auto same_cell = [&](const FinishedRun& each) { return each.cell == run.cell; };
  const auto same_workload = [&](const FinishedRun& each) {
    return each.workload == run.workload && each.dtype == run.dtype && each.device == run.device;
  };
  const auto same_strategy = [&](const FinishedRun& each) {
    return same_workload(each) && each.strategy == run.strategy;
  };
  const auto time = [](const FinishedRun& each) { return each.seconds; };
  const auto by_pace = [&](const FinishedRun& each) {
    return each.setup_seconds + run.examples * each.training_seconds / each.examples +
           run.evaluations * each.evaluation_seconds;
  };
  if (const auto found = median_of(known.here, same_cell, time)) {
    return ExpectedTime{.seconds = *found, .basis = Basis::CellHere};
  }
  if (const auto found = median_of(known.committed, same_cell, time)) {
    return ExpectedTime{.seconds = *found, .basis = Basis::CellCommitted};
  }
  for (const auto runs : {known.here, known.committed}) {
    if (const auto found = median_of(runs, same_strategy, by_pace)) {
      return ExpectedTime{.seconds = *found, .basis = Basis::Strategy};
    }
  }
  for (const auto runs : {known.here, known.committed}) {
    if (const auto found = median_of(runs, same_workload, by_pace)) {
      return ExpectedTime{.seconds = *found, .basis = Basis::Workload};
    }
  }
  if (const auto found = median_of(known.timed, same_workload, by_pace)) {
    return ExpectedTime{.seconds = *found, .basis = Basis::ShortRun};
  }
  return std::nullopt;
}

std::vector<FinishedRun> committed_runs(const MachineFacts& machine) {
  std::vector<FinishedRun> all;
  const std::optional<fs::path> schema = find_in_checkout("results/schema.json");
  if (!schema) return all;
  for (const auto& entry : fs::recursive_directory_iterator(schema->parent_path())) {
    if (!entry.is_directory() || !is_of(machine, entry.path())) continue;
    for (FinishedRun& run : finished_runs(entry.path()).runs) all.push_back(std::move(run));
  }
  return all;
}

std::optional<FinishedRun> short_run(const RunLength& run) {
  std::string folder = fs::temp_directory_path() / "regatta-short-run-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return std::nullopt;
  run_child(
      {"run", "--workload", run.workload, "--dtype", run.dtype, "--device", run.device, "--dataset",
       made_data_set(find_workload(run.workload)), "--steps", kShortSteps, "--out", folder},
      [](const std::string&) {});
  std::vector<FinishedRun> runs = finished_runs(folder).runs;
  std::error_code ignored;  // a folder that stays harms nobody
  fs::remove_all(folder, ignored);
  if (runs.empty() || runs.front().status == Status::Failed) return std::nullopt;
  return std::move(runs.front());
}

}  // namespace regatta
