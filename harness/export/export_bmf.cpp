// SPDX-License-Identifier: Apache-2.0
//
// Bencher Metric Format: {CELL: {MEASURE: {"value", "lower_value", "upper_value"}}}. Values are
// medians over the runs of a cell, lower and upper the limits of their order-statistic interval.
// Measures: `throughput` (Bencher's own: operations, here examples, a second, over the runs that
// did not fail), `training-time-to-target-s` and `examples-to-target`. In the last two a run that
// missed or failed counts as infinite: an infinite bound is left out, an infinite median omits the
// measure.
// Source: https://bencher.dev/docs/reference/bencher-metric-format
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/export/export.h"

namespace regatta::exports {
namespace {

using Json = nlohmann::ordered_json;

/// Adds a measure if its median is finite.
void add(Json& measures, const char* name, const std::optional<judge::MedianInterval>& interval) {
  if (!interval || !std::isfinite(interval->median)) return;
  Json metric{{"value", interval->median}};
  if (std::isfinite(interval->low)) metric["lower_value"] = interval->low;
  if (std::isfinite(interval->high)) metric["upper_value"] = interval->high;
  measures[name] = metric;
}

}  // namespace

Export export_bmf(std::span<const record::Record> records, const Submission&) {
  require_one_machine(records);
  Export result;
  Json benchmarks = Json::object();
  for (const judge::CellRuns& cell : judge::runs_by_cell(records)) {
    const judge::CellMeasures measures = judge::measures_of(cell);
    Json metrics = Json::object();
    add(metrics, "throughput", measures.examples_per_s);
    add(metrics, "training-time-to-target-s", measures.seconds_to_target);
    add(metrics, "examples-to-target", measures.examples_to_target);
    for (std::string& line : missing_medians(cell, measures)) {
      result.left_out.push_back(std::move(line));
    }
    if (!metrics.empty()) benchmarks[cell.name] = metrics;
  }
  if (!benchmarks.empty()) result.files.push_back({.path = {}, .text = benchmarks.dump(2) + "\n"});
  return result;
}

}  // namespace regatta::exports
