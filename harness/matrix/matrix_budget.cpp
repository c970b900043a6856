// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/matrix_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

namespace regatta::matrix {
namespace {

/// Cells by their number of runs, most first.
using CellsByRuns = std::map<std::size_t, std::vector<std::size_t>, std::greater<>>;

CellsByRuns cells_by_runs(std::span<const std::size_t> runs_of_cell) {
  CellsByRuns cells;
  for (std::size_t cell = 0; cell < runs_of_cell.size(); ++cell) {
    cells[runs_of_cell[cell]].push_back(cell);
  }
  return cells;
}

}  // namespace

std::optional<std::size_t> next_run(std::span<const MissingRun> missing,
                                    const std::set<std::size_t>& begun, double seconds_left) {
  if (seconds_left <= 0) return std::nullopt;
  const auto index_of = [&](const auto& holds) -> std::optional<std::size_t> {
    const auto at = std::find_if(missing.begin(), missing.end(), holds);
    if (at == missing.end()) return std::nullopt;
    return static_cast<std::size_t>(at - missing.begin());
  };
  const auto first = index_of([&](const MissingRun& run) { return !begun.contains(run.cell); });
  if (first) return first;
  return index_of([&](const MissingRun& run) { return run.seconds.value_or(0) <= seconds_left; });
}

std::string few_of(std::span<const std::string> names, std::size_t most) {
  constexpr std::string_view kMore = " and 1000 more";
  std::string text = names.empty() ? "" : names.front();
  for (std::size_t i = 1; i < names.size(); ++i) {
    const std::size_t rest = i + 1 < names.size() ? kMore.size() : 0;
    if (text.size() + 2 + names[i].size() + rest > most) {
      return text + fmt::format(" and {} more", names.size() - i);
    }
    text += ", " + names[i];
  }
  return text;
}

std::vector<std::string> lines_of_fewer(const MatrixPlan& plan,
                                        std::span<const std::size_t> runs_of_cell,
                                        std::size_t wanted) {
  std::vector<std::string> lines;
  for (const auto& [runs, cells] : cells_by_runs(runs_of_cell)) {
    if (runs >= wanted) continue;
    std::vector<std::string> names;
    for (const std::size_t cell : cells) names.push_back(plan.cells[cell].name);
    const std::string head = fmt::format("  {} of {} seeds: ", runs, wanted);
    lines.push_back(head + few_of(names, kMostColumns - head.size()));
  }
  return lines;
}

}  // namespace regatta::matrix
