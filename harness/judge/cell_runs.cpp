// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/cell_runs.h"

#include <algorithm>
#include <sstream>

#include "strategies/strategy.h"

namespace regatta::judge {
namespace {

using Sample = std::vector<double>;

std::optional<MedianInterval> median_of(const Sample& sample) {
  if (sample.empty()) return std::nullopt;
  return median_interval(sample);
}

}  // namespace

bool claims_target(const record::Record& record) {
  std::istringstream names(record.cell.strategy);
  for (std::string name; std::getline(names, name, '+');) {
    for (const strategies::Strategy* row : strategies::all_strategies()) {
      if (row->name == name && row->exchange == strategies::Exchange::Nothing) return false;
    }
  }
  return true;
}

std::vector<CellRuns> runs_by_cell(std::span<const record::Record> records) {
  std::vector<CellRuns> cells;
  for (const record::Record& record : records) {
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
  for (const record::Record* run : cell.runs) {
    if (run->status != record::Status::Failed && run->examples_per_s > 0) {
      speeds.push_back(run->examples_per_s);
    }
    if (!claims_target(*run)) continue;
    const auto& time = run->training_time_to_target_ns;
    const bool reached = run->status == record::Status::Reached && time && run->examples_to_target;
    measures.reached += reached ? 1 : 0;
    seconds.push_back(reached ? static_cast<double>(*time) / 1e9 : kInfinity);
    examples.push_back(reached ? static_cast<double>(*run->examples_to_target) : kInfinity);
  }
  measures.seconds_to_target = median_of(seconds);
  measures.examples_to_target = median_of(examples);
  measures.examples_per_s = median_of(speeds);
  return measures;
}

}  // namespace regatta::judge
