// SPDX-License-Identifier: Apache-2.0
//
// github-action-benchmark, two files for two steps of a workflow: smaller_is_better.json for
// `tool: customSmallerIsBetter` (training time to the target) and bigger_is_better.json for
// `tool: customBiggerIsBetter` (examples a second). Each is [{"name", "unit", "value", "range",
// "extra"}], an entry a cell: the value is the median over its runs, the range its order-statistic
// interval, extra the number of runs. A run that missed or failed counts as infinite in the time,
// and a failed one is excluded from the speed. An infinite median has no number, so such a cell has
// no entry; the action ignores that silently, and `regatta export` reports it. Source:
// https://github.com/benchmark-action/github-action-benchmark
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/export/export.h"

namespace regatta::exports {
namespace {

using Json = nlohmann::ordered_json;

struct Measure {
  std::string name;
  const char* unit;
  std::string extra;
};

void add(Json& entries, const Measure& measure,
         const std::optional<judge::MedianInterval>& interval) {
  if (!interval || !std::isfinite(interval->median)) return;
  entries.push_back(
      {{"name", measure.name},
       {"unit", measure.unit},
       {"value", interval->median},
       {"range", fmt::format("{:.4g} to {:.4g} covers the median with {:.4g} %", interval->low,
                             interval->high, 100 * interval->coverage)},
       {"extra", measure.extra}});
}

std::string extra_of(const judge::CellRuns& cell, const judge::CellMeasures& measures) {
  std::set<std::string> commits;
  for (const record::Record* run : cell.runs) commits.insert(run->software.git_commit);
  return fmt::format("{} of {} runs reached the target\ncommit {}", measures.reached,
                     cell.runs.size(), fmt::join(commits, ", "));
}

}  // namespace

Export export_github(std::span<const record::Record> records, const Submission&) {
  require_one_machine(records);
  Export result;
  Json smaller = Json::array();
  Json bigger = Json::array();
  for (const judge::CellRuns& cell : judge::runs_by_cell(records)) {
    const judge::CellMeasures measures = judge::measures_of(cell);
    const std::string extra = extra_of(cell, measures);
    add(smaller, {cell.name + ": training time to the target", "s", extra},
        measures.seconds_to_target);
    add(bigger, {cell.name + ": training speed", "examples/s", extra}, measures.examples_per_s);
    for (std::string& line : missing_medians(cell, measures)) {
      result.left_out.push_back(std::move(line));
    }
  }
  if (smaller.empty() && bigger.empty()) return result;
  // The action rightly fails on an empty list; a missing file might be mistaken for an old one.
  result.files = {{.path = "smaller_is_better.json", .text = smaller.dump(2) + "\n"},
                  {.path = "bigger_is_better.json", .text = bigger.dump(2) + "\n"}};
  return result;
}

}  // namespace regatta::exports
