// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/matrix_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "harness/judge/statistics.h"
#include "harness/system/terminal.h"
#include "strategies/strategy.h"

namespace regatta::matrix {
namespace {

constexpr std::size_t kLeastNameWidth = 16;
const std::vector<std::string> kHeads = {"cell",      "runs",   "reached",    "failed",
                                         "to target", "metric", "examples/s", "tokens/s"};
constexpr std::size_t kFailed = 3;
constexpr std::size_t kMetric = 5;
constexpr std::size_t kTokens = 7;

std::string time_text(double seconds) {
  return seconds < 1 ? fmt::format("{:.1f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

/// Formats the median of the runs that have the value; empty if none has it.
template <typename Number>
std::string median_of(const std::vector<judge::FinishedRun>& runs,
                      Number judge::FinishedRun::*field, const char* format) {
  std::vector<double> values;
  for (const judge::FinishedRun& run : runs) {
    if (const std::optional<double> value = run.*field) values.push_back(*value);
  }
  if (values.empty()) return "";
  return fmt::format(fmt::runtime(format), judge::median_interval(values).median);
}

/// Cuts out the middle of a name that is too long, because names differ at both ends.
std::string shortened(const std::string& name, std::size_t width) {
  if (name.size() <= width) return name;
  const std::size_t head = (width - 2) / 2;
  return name.substr(0, head) + ".." + name.substr(name.size() - (width - 2 - head));
}

bool has_one_worker(const MatrixCell& cell) {
  if (cell.is_program) return false;
  return strategies::find_strategies(cell.strategy).front()->workers == strategies::WorkersAre::One;
}

/// Aligns the first column to the left, numbers to the right.
std::string aligned(const std::vector<std::string>& columns,
                    const std::vector<std::size_t>& widths) {
  std::string text = fmt::format("{:<{}}", shortened(columns[0], widths[0]), widths[0]);
  for (std::size_t i = 1; i < columns.size(); ++i) {
    if (widths[i] > 0) text += fmt::format(" {:>{}}", columns[i], widths[i]);
  }
  return text;
}

}  // namespace

MatrixTable::MatrixTable(const MatrixPlan& plan)
    : plan_(plan), rows_(plan.cells.size()), terminal_(system::is_terminal()) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> by_workload;
  for (std::size_t cell = 0; cell < plan.cells.size(); ++cell) {
    const std::string workload = plan.cells[cell].workload;
    const auto same = [&](const auto& entry) { return entry.first == workload; };
    auto found = std::find_if(by_workload.begin(), by_workload.end(), same);
    if (found == by_workload.end()) found = by_workload.insert(found, {workload, {}});
    found->second.push_back(cell);
  }
  for (const auto& [workload, cells] : by_workload) groups_.push_back(group_of(workload, cells));
}

/// Also sets the labels of its rows: the settings that not all cells share. The number of workers
/// is left out for a strategy of one worker.
MatrixTable::Group MatrixTable::group_of(const std::string& workload,
                                         const std::vector<std::size_t>& cells) {
  const auto has = [&](std::size_t cell, const std::string& setting) {
    const std::vector<std::string>& own = plan_.cells[cell].settings;
    return std::find(own.begin(), own.end(), setting) != own.end();
  };
  const auto is_of_all = [&](const std::string& setting, bool counts_workers) {
    return std::ranges::all_of(cells, [&](std::size_t cell) {
      return has(cell, setting) || (counts_workers && has_one_worker(plan_.cells[cell]));
    });
  };
  const auto settings_of = [&](std::size_t cell, bool of_all) {
    std::vector<std::string> settings = plan_.cells[cell].settings;
    const std::string workers = settings.front();
    if (has_one_worker(plan_.cells[cell])) settings.erase(settings.begin());
    std::erase_if(settings, [&](const std::string& setting) {
      return is_of_all(setting, setting == workers) != of_all;
    });
    return settings.empty() ? "" : fmt::format(" ({})", fmt::join(settings, ", "));
  };
  const auto tells_workers = std::ranges::find_if(
      cells, [&](std::size_t cell) { return !has_one_worker(plan_.cells[cell]); });
  const std::size_t typical = tells_workers == cells.end() ? cells.front() : *tells_workers;
  Group group{.title = workload + settings_of(typical, true), .cells = cells};
  for (const std::size_t cell : cells) {
    rows_[cell].label = "  " + plan_.cells[cell].strategy + settings_of(cell, false);
  }
  return group;
}

void MatrixTable::add(std::size_t cell, const judge::FinishedRun& run) {
  rows_[cell].runs.push_back(run);
}

void MatrixTable::add_crash(std::size_t cell) { ++rows_[cell].crashes; }

std::ptrdiff_t MatrixTable::Row::count(record::Status status) const {
  return std::count_if(runs.begin(), runs.end(),
                       [&](const judge::FinishedRun& run) { return run.status == status; });
}

/// A run that missed its target counts as infinitely slow.
double MatrixTable::Row::seconds_to_target() const {
  std::vector<double> seconds;
  for (const judge::FinishedRun& run : runs) {
    seconds.push_back(run.seconds_to_target.value_or(judge::kInfinity));
  }
  return seconds.empty() ? judge::kInfinity : judge::median_interval(seconds).median;
}

MatrixTable::Columns MatrixTable::columns_of(const Row& row) const {
  const double seconds = row.seconds_to_target();
  return {row.label,
          fmt::format("{}/{}", row.runs.size(), plan_.seeds.size()),
          std::to_string(row.count(record::Status::Reached)),
          row.failed() == 0 ? "" : std::to_string(row.failed()),
          row.runs.empty()      ? ""
          : std::isinf(seconds) ? "missed"
                                : time_text(seconds),
          median_of(row.runs, &judge::FinishedRun::metric, "{:.4g}"),
          median_of(row.runs, &judge::FinishedRun::examples_per_s, "{:.0f}"),
          median_of(row.runs, &judge::FinishedRun::tokens_per_s, "{:.0f}")};
}

void MatrixTable::begin(std::size_t cell, std::uint64_t seed) {
  under_way_ = fmt::format("{}, seed {}: preparing", plan_.cells[cell].name, seed);
  if (terminal_) redraw();
}

void MatrixTable::progress(const std::string& line, const std::string& left) {
  if (!terminal_) return;
  under_way_ = left.empty() ? line : line + "  |  " + left;
  redraw();
}

void MatrixTable::show(const std::string& news) {
  if (terminal_) {
    under_way_ = news;
    redraw();
    return;
  }
  if (!news.empty()) fmt::print("{}\n", news);
  std::fflush(stdout);
}

/// Shortens names if there is no room, then drops the last numbers.
MatrixTable::Widths MatrixTable::widths_for(std::size_t terminal_columns) const {
  Widths widths{.line = terminal_columns - 1};
  for (const std::string& head : kHeads) widths.columns.push_back(head.size());
  widths.columns[kMetric] = 8;  // fits most metrics, so that columns stay in place
  for (const std::size_t i : {kFailed, kTokens}) widths.columns[i] = 0;  // shown only if needed
  for (const Row& row : rows_) {
    const Columns columns = columns_of(row);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].empty()) continue;
      widths.columns[i] = std::max({widths.columns[i], columns[i].size(), kHeads[i].size()});
    }
  }
  std::size_t numbers = 0;
  for (std::size_t i = 1; i < widths.columns.size(); ++i) {
    const std::size_t more = widths.columns[i] > 0 ? widths.columns[i] + 1 : 0;
    if (numbers + more + kLeastNameWidth > widths.line) {
      std::fill(widths.columns.begin() + static_cast<std::ptrdiff_t>(i), widths.columns.end(), 0);
      break;
    }
    numbers += more;
  }
  const std::size_t room = std::max(widths.line, numbers + kLeastNameWidth) - numbers;
  widths.columns[0] = std::min(widths.columns[0], room);
  return widths;
}

std::vector<std::string> MatrixTable::lines_of(const Group& group, const Widths& widths) const {
  std::vector<std::string> lines = {group.title.substr(0, widths.line)};
  for (const std::size_t cell : group.cells) {
    lines.push_back(aligned(columns_of(rows_[cell]), widths.columns).substr(0, widths.line));
  }
  return lines;
}

void MatrixTable::redraw() {
  const system::TerminalSize size = system::terminal_size();
  const Widths widths = widths_for(size.columns);
  std::vector<std::string> table = {aligned(kHeads, widths.columns).substr(0, widths.line)};
  for (const Group& group : groups_) {
    const std::vector<std::string> lines = lines_of(group, widths);
    table.insert(table.end(), lines.begin(), lines.end());
  }
  const std::size_t room = size.rows > 5 ? size.rows - 2 : 3;
  if (table.size() > room) {
    const std::size_t hidden = table.size() - room + 1;
    table.resize(room - 1);
    table.push_back(fmt::format("... and {} lines more", hidden));
  }
  table.push_back(under_way_.substr(0, widths.line));
  std::string text = drawn_ > 0 ? fmt::format("\x1b[{}A\r", drawn_) : "";
  for (const std::string& line : table) text += "\x1b[K" + line + "\n";
  drawn_ = table.size();
  fmt::print("{}\x1b[J", text);
  std::fflush(stdout);
}

}  // namespace regatta::matrix
