// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/matrix_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "harness/system/number.h"

namespace regatta {
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
  if (missing.empty() || seconds_left <= 0) return std::nullopt;
  const auto is_first = [&](const MissingRun& run) { return !begun.contains(run.cell); };
  const auto fits = [&](const MissingRun& run) { return run.seconds.value_or(0) <= seconds_left; };
  std::vector<std::size_t> all(missing.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto found = [&](const auto& holds) -> std::optional<std::size_t> {
    const auto at =
        std::find_if(all.begin(), all.end(), [&](std::size_t i) { return holds(missing[i]); });
    return at == all.end() ? std::nullopt : std::optional(*at);
  };
  const auto first_that_fits =
      found([&](const MissingRun& run) { return is_first(run) && fits(run); });
  if (first_that_fits) return first_that_fits;
  if (!found(is_first)) return found(fits);
  std::erase_if(all, [&](std::size_t i) { return !is_first(missing[i]); });
  return *std::min_element(all.begin(), all.end(), [&](std::size_t a, std::size_t b) {
    return missing[a].seconds < missing[b].seconds;
  });
}

Forecast forecast(std::span<const MissingRun> missing, std::vector<std::size_t> runs_of_cell,
                  double seconds_left) {
  std::vector<MissingRun> left(missing.begin(), missing.end());
  std::set<std::size_t> begun;
  for (std::size_t cell = 0; cell < runs_of_cell.size(); ++cell) {
    if (runs_of_cell[cell] > 0) begun.insert(cell);
  }
  Forecast result{.runs_of_cell = std::move(runs_of_cell)};
  while (const auto next = next_run(left, begun, seconds_left - result.seconds)) {
    const MissingRun run = left[*next];
    result.seconds += run.seconds.value_or(0);
    ++result.runs_of_cell[run.cell];
    begun.insert(run.cell);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(*next));
  }
  return result;
}

std::size_t Forecast::runs() const {
  return std::accumulate(runs_of_cell.begin(), runs_of_cell.end(), std::size_t{0});
}

std::vector<std::size_t> Forecast::empty_cells() const {
  std::vector<std::size_t> cells;
  for (std::size_t cell = 0; cell < runs_of_cell.size(); ++cell) {
    if (runs_of_cell[cell] == 0) cells.push_back(cell);
  }
  return cells;
}

double seconds_of_first_runs(std::span<const MissingRun> missing, std::set<std::size_t> begun) {
  double seconds = 0;
  for (const MissingRun& run : missing) {
    if (begun.insert(run.cell).second) seconds += run.seconds.value_or(0);
  }
  return seconds;
}

std::string seeds_text(std::span<const std::size_t> runs_of_cell) {
  std::string text;
  for (const auto& [runs, cells] : cells_by_runs(runs_of_cell)) {
    const auto seeds = static_cast<std::int64_t>(runs);
    const std::string number = runs == 0 ? "none" : std::to_string(runs);
    text += text.empty() ? fmt::format("{} of {}", runs == 0 ? "no seeds" : plural(seeds, "seed"),
                                       plural(std::ssize(cells), "cell"))
                         : fmt::format(", {} of {}", number, cells.size());
  }
  return text;
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

}  // namespace regatta
