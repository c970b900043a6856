// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/expected_time.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "harness/judge/cell_runs.h"
#include "harness/judge/statistics.h"
#include "harness/plan/cell.h"
#include "harness/plan/device_name.h"
#include "harness/plan/placement.h"
#include "harness/plan/race_flags.h"
#include "harness/plan/training_options.h"
#include "harness/record/record_reader.h"
#include "harness/system/program_files.h"
#include "kernels/graph/error.h"

namespace regatta {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShortSteps = "3";
constexpr std::int64_t kShortBatch = 64;  // examples, on a CPU

/// The median of `seconds` over the finished runs for which `counts` holds; may be empty.
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

/// Whether a folder's records are from a machine, judged by its first record.
bool is_of(const MachineFacts& machine, const fs::path& folder) {
  const std::optional<Record> first = first_record_in(folder);
  if (!first) return false;
  const MachineFacts& recorded = first->machine;
  return recorded.cpu == machine.cpu && recorded.isa == machine.isa &&
         recorded.cores_available == machine.cores_available &&
         recorded.cpu_quota == machine.cpu_quota && recorded.gpus == machine.gpus;
}

/// The ratio of evaluation times of two data sets, by their numbers of test examples.
double evaluation_ratio(const std::string& dataset, const std::string& measured) {
  const auto wanted = data_set_sizes(dataset), had = data_set_sizes(measured);
  if (!wanted || !had || wanted->test <= 0 || had->test <= 0) return 1;
  return static_cast<double>(wanted->test) / static_cast<double>(had->test);
}

/// Training time per example. Few steps count by their median: the first of them wakes threads.
double seconds_per_example(const FinishedRun& run) {
  if (run.strategy == "single" && run.median_step_s && run.global_batch > 0) {
    return *run.median_step_s / static_cast<double>(run.global_batch);
  }
  return run.training_seconds / run.examples;
}

/// A small batch in whole groups of normalisation; a GPU takes as long for a few examples.
std::int64_t short_batch(const RunLength& run, const Workload& workload) {
  const std::int64_t whole = default_global_batch(workload, 1);
  if (is_gpu(run.device)) return whole;
  const RaceRequest request{.workload = run.workload};
  const std::int64_t group = place_without_data(request).placed->step.normalization_group;
  return std::min(whole, (kShortBatch + group - 1) / group * group);
}

/// The workload's first data set that needs no files.
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
  const std::string dataset = dataset_of(request, *placement.workload);
  Record record;
  record.cell = cell_of(request, placement, {.dataset = dataset});
  record.target.value = request.target.value_or(placement.workload->target);
  record.command = request.command;
  return {
      .cell = cell_name(record),
      .workload = request.workload,
      .recipe = record.cell.recipe,
      .strategy = request.strategy,
      .dtype = request.dtype,
      .device = request.device,
      .dataset = dataset,
      .straggler = straggler_text(record.cell.straggler),
      .examples = static_cast<double>(recipe.total_examples),
      .evaluations = static_cast<double>(expected_evaluations(evaluation_points_of(placement)))};
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
    return each.workload == run.workload && each.dtype == run.dtype && each.device == run.device &&
           (each.straggler.empty() || each.straggler == run.straggler);
  };
  const auto same_strategy = [&](const FinishedRun& each) {
    return same_workload(each) && each.strategy == run.strategy;
  };
  const auto time = [](const FinishedRun& each) { return each.seconds; };
  const auto by_pace = [&](const FinishedRun& each) {
    return each.setup_seconds + run.examples * seconds_per_example(each) +
           (each.warmup_seconds + run.evaluations * each.evaluation_seconds) *
               evaluation_ratio(run.dataset, each.dataset);
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
  const std::optional<fs::path> schema = find_program_file("results/schema.json");
  if (!schema) return all;
  std::error_code unreadable;  // then fewer runs are known
  fs::recursive_directory_iterator entry(schema->parent_path(),
                                         fs::directory_options::skip_permission_denied, unreadable);
  for (; !unreadable && entry != fs::end(entry); entry.increment(unreadable)) {
    if (!entry->is_directory(unreadable) || !is_of(machine, entry->path())) continue;
    try {
      for (FinishedRun& run : finished_runs(entry->path()).runs) all.push_back(std::move(run));
    } catch (const RunError&) {  // another schema: fewer runs are known
    }
  }
  return all;
}

std::optional<FinishedRun> short_run(const RunLength& run, Deadline deadline) {
  std::error_code ignored;
  const fs::path scratch = fs::temp_directory_path(ignored);
  std::string folder = scratch / "regatta-short-run-XXXXXX";
  if (scratch.empty() || mkdtemp(folder.data()) == nullptr) return std::nullopt;
  const Workload& workload = find_workload(run.workload);
  try {
    run_child(
        {"run", "--workload", run.workload, "--dtype", run.dtype, "--device", run.device,
         "--dataset", made_data_set(workload), "--steps", kShortSteps, "--global-batch",
         std::to_string(short_batch(run, workload)), "--out", folder},
        [](const std::string&) {}, deadline);
  } catch (const RunError&) {  // no child could be started
  }
  std::vector<FinishedRun> runs = finished_runs(folder).runs;
  fs::remove_all(folder, ignored);  // if it remains, it does no harm
  if (runs.empty() || runs.front().status == Status::Failed) return std::nullopt;
  return std::move(runs.front());
}

}  // namespace regatta
