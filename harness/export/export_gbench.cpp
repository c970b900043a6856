// SPDX-License-Identifier: Apache-2.0
//
// Google Benchmark's JSON, for its compare.py and other readers. A cell is a benchmark, each of its
// runs a repetition, one step over the global batch an iteration:
//   real_time  mean time of a step on the training clock: global batch / examples a second
//   cpu_time   sum over all workers of the wall time in which they computed and updated, per step:
//              the nearest value, because records have no CPU time
//   iterations steps; threads  workers times threads of each; label  seed and commit
// and as counters items_per_second, bytes_per_step and, for runs that reached the target,
// seconds_to_target and examples_to_target. A missed run is an ordinary measurement; a failed one
// is marked by error_occurred and error_message with times of 0, as in the library. The context
// omits fields that no record has: host_name, mhz_per_cpu, cpu_scaling_enabled, caches, load_avg
// and the library's version. Every number is finite, so the output is valid JSON, unlike the
// library's NaN. Source: google/benchmark, src/json_reporter.cc
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/export/export.h"

namespace regatta::exports {
namespace {

using Json = nlohmann::ordered_json;

/// The position of a run among all.
struct Repetition {
  std::size_t family = 0;
  std::size_t index = 0;
};

/// Converts `2026-01-31T12:00:00Z` to the library's notation.
std::string with_offset(std::string timestamp) {
  if (timestamp.ends_with('Z')) timestamp.replace(timestamp.size() - 1, 1, "+00:00");
  return timestamp;
}

Json context_of(const record::Record& first) {
  return {{"date", with_offset(first.timestamp)},
          {"executable", "regatta"},
          {"num_cpus", first.machine.cores_available},
          {"json_schema_version", 1},
          {"machine", judge::machine_name(first.machine)}};
}

void add_error(Json& entry, const record::Record& run) {
  entry["error_occurred"] = true;
  entry["error_message"] =
      run.failure ? run.failure->kind + ": " + run.failure->text : "the record does not say why";
  entry["iterations"] = 0;
  entry["real_time"] = 0.0;
  entry["cpu_time"] = 0.0;
  entry["time_unit"] = "ns";
}

void add_times(Json& entry, const record::Record& run) {
  // A program's own task has no known batch, so its time is that of an example.
  const auto batch = static_cast<double>(std::max<std::int64_t>(1, run.cell.global_batch));
  const double step_ns = 1e9 * batch / run.examples_per_s;
  const double steps = std::max(1.0, std::round(static_cast<double>(run.training_ns) / step_ns));
  std::int64_t busy_ns = 0;
  for (const record::WorkerRecord& worker : run.workers)
    busy_ns += worker.compute_ns + worker.update_ns;
  entry["iterations"] = static_cast<std::int64_t>(steps);
  entry["real_time"] = step_ns;
  entry["cpu_time"] = static_cast<double>(busy_ns) / steps;
  entry["time_unit"] = "ns";
  entry["items_per_second"] = run.examples_per_s;
  entry["bytes_per_step"] = run.graph.bytes_per_step_counted;
  if (!judge::claims_target(run) || !run.training_time_to_target_ns || !run.examples_to_target)
    return;
  entry["seconds_to_target"] = static_cast<double>(*run.training_time_to_target_ns) / 1e9;
  entry["examples_to_target"] = static_cast<double>(*run.examples_to_target);
}

Json entry_of(const judge::CellRuns& cell, const Repetition& repetition) {
  const record::Record& run = *cell.runs[repetition.index];
  const std::string name = cell.name + "/real_time";  // selects real_time of the two times
  Json entry{{"name", name},
             {"family_index", repetition.family},
             {"per_family_instance_index", 0},
             {"run_name", name},
             {"run_type", "iteration"},
             {"repetitions", cell.runs.size()},
             {"repetition_index", repetition.index},
             {"threads", run.cell.workers * run.cell.threads_per_worker}};
  if (run.status == record::Status::Failed) {
    add_error(entry, run);
  } else {
    add_times(entry, run);
  }
  entry["label"] =
      fmt::format("seed {}, commit {}{}", run.cell.seed, run.software.git_commit.substr(0, 10),
                  run.software.dirty ? " with changes" : "");
  return entry;
}

bool is_measured(const record::Record& run) {
  return run.status == record::Status::Failed ||
         (run.examples_per_s > 0 && (run.cell.global_batch > 0 || run.cell.program));
}

}  // namespace

Export export_gbench(std::span<const record::Record> records, const Submission&) {
  require_one_machine(records);
  Export result;
  Json entries = Json::array();
  std::size_t family = 0;
  for (judge::CellRuns& cell : judge::runs_by_cell(records)) {
    const std::size_t before = cell.runs.size();
    std::erase_if(cell.runs, [](const record::Record* run) { return !is_measured(*run); });
    if (cell.runs.size() < before) {
      result.left_out.push_back(fmt::format("{}: {} of {} records hold no speed; left out",
                                            cell.name, before - cell.runs.size(), before));
    }
    if (cell.runs.empty()) continue;
    for (std::size_t i = 0; i < cell.runs.size(); ++i) {
      entries.push_back(entry_of(cell, {.family = family, .index = i}));
    }
    ++family;
  }
  if (entries.empty()) return result;
  const Json json{{"context", context_of(records.front())}, {"benchmarks", entries}};
  result.files.push_back({.path = {}, .text = json.dump(2) + "\n"});
  return result;
}

}  // namespace regatta::exports
