// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/cell_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "strategies/strategy.h"
#include "workloads/workload.h"

namespace regatta {
namespace {

using Sample = std::vector<double>;

std::string text_of(const std::string& value) { return value; }
std::string text_of(double value) { return fmt::format("{}", value); }
std::string text_of(std::int64_t value) { return fmt::format("{}", value); }
template <typename T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : "none";
}
std::string text_of(const std::vector<Straggler>& stragglers) { return straggler_text(stragglers); }

/// A name that grows by what is not as usual.
struct Name {
  std::string text;

  template <typename T>
  void add_unless(const T& usual, const char* field, const T& value) {
    if (text_of(value) != text_of(usual)) text += fmt::format(" {}={}", field, text_of(value));
  }
};

/// Null for a workload that this program does not have any more.
const Workload* workload_of(const Cell& cell) {
  for (const Workload& workload : all_workloads()) {
    if (workload.name == cell.workload) return &workload;
  }
  return nullptr;
}

void add_exchange(Name& name, const Cell& cell) {
  name.add_unless<std::int64_t>(1, "processes", cell.processes);
  name.add_unless<std::int64_t>(1, "stages", cell.stages);
  for (const auto& [option, value] : unusual_options(cell)) {
    name.text += fmt::format(" {}={}", option, to_text(value));
  }
  name.add_unless({}, "straggler", cell.straggler);
}

std::optional<MedianInterval> median_of(const Sample& sample) {
  if (sample.empty()) return std::nullopt;
  return median_interval(sample);
}

}  // namespace

std::string straggler_text(const std::vector<Straggler>& stragglers) {
  std::vector<std::string> texts;
  for (const Straggler& each : stragglers) {
    texts.push_back(fmt::format("{}:{}", each.worker, each.factor));
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

OptionValues unusual_options(const Cell& cell) {
  OptionValues unusual = cell.options;
  for (const Option* option : all_options()) {
    const auto found = unusual.find(option->name);
    if (found != unusual.end() && found->second == option->usual()) unusual.erase(found);
  }
  return unusual;
}

std::string cell_name(const Record& record) {
  const Cell& cell = record.cell;
  Name name{fmt::format("{} {} x{}", cell.workload, cell.strategy, cell.workers)};
  const Workload* const workload = workload_of(cell);
  name.add_unless<std::string>(workload ? std::string(workload->data_sets.front()) : "", "dataset",
                               cell.dataset);
  const std::int64_t replicas = cell.workers / std::max<std::int64_t>(cell.stages, 1);
  name.add_unless<std::int64_t>(workload ? default_global_batch(*workload, replicas) : 0,
                                "global_batch", cell.global_batch);
  name.add_unless<std::string>("f32", "dtype", cell.dtype);
  name.add_unless<std::string>("cpu", "device", cell.device);
  if (cell.cuda_graph) name.add_unless<std::string>("on", "cuda_graph", *cell.cuda_graph);
  if (cell.cudnn_engine) {
    name.add_unless<std::string>("timed", "cudnn_engine", *cell.cudnn_engine);
  }
  if (cell.gpus) name.add_unless<std::int64_t>(cell.workers, "gpus", *cell.gpus);
  name.add_unless<std::string>("on", "fusion", cell.fusion);
  name.add_unless<std::string>("off", "winograd", cell.winograd);
  name.add_unless({}, "normalization_group", cell.normalization_group);
  name.add_unless<double>(1, "rate_scale", cell.rate_scale);
  add_exchange(name, cell);
  name.add_unless({}, "steps", cell.steps);
  name.add_unless({}, "epochs", cell.epochs);
  name.add_unless<double>(workload ? workload->target : 0, "target", record.target.value);
  return name.text;
}

std::string machine_name(const MachineFacts& machine) {
  std::string name = fmt::format("{} core{} of {}", machine.cores_used,
                                 machine.cores_used == 1 ? "" : "s", machine.cpu);
  for (const std::string& gpu : machine.gpus) name += ", " + gpu;
  return name;
}

bool claims_target(const Record& record) {
  std::istringstream names(record.cell.strategy);
  for (std::string name; std::getline(names, name, '+');) {
    for (const Strategy* row : all_strategies()) {
      if (row->name == name && row->exchange == Exchange::Nothing) return false;
    }
  }
  return true;
}

std::vector<CellRuns> runs_by_cell(std::span<const Record> records) {
  std::vector<CellRuns> cells;
  for (const Record& record : records) {
    const std::string name = cell_name(record);
    const auto same = [&](const CellRuns& cell) { return cell.name == name; };
    auto found = std::find_if(cells.begin(), cells.end(), same);
    if (found == cells.end()) found = cells.insert(found, {.name = name, .runs = {}});
    found->runs.push_back(&record);
  }
  return cells;
}

CellMeasures measures_of(const CellRuns& cell) {
  CellMeasures measures;
  Sample seconds;
  Sample examples;
  Sample speeds;
  for (const Record* run : cell.runs) {
    if (run->status != Status::Failed && run->examples_per_s > 0) {
      speeds.push_back(run->examples_per_s);
    }
    if (!claims_target(*run)) continue;
    const auto& time = run->training_time_to_target_ns;
    const bool reached = run->status == Status::Reached && time && run->examples_to_target;
    measures.reached += reached ? 1 : 0;
    seconds.push_back(reached ? static_cast<double>(*time) / 1e9 : kInfinity);
    examples.push_back(reached ? static_cast<double>(*run->examples_to_target) : kInfinity);
  }
  measures.seconds_to_target = median_of(seconds);
  measures.examples_to_target = median_of(examples);
  measures.examples_per_s = median_of(speeds);
  return measures;
}

}  // namespace regatta
