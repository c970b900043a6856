// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix_table.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "harness/statistics.h"

namespace regatta {
namespace {

constexpr std::size_t kNumbersWidth = 50;  // of a row, what follows the name and a space at the end
constexpr std::size_t kFailedWidth = 11;   // and of that, how many failed
constexpr std::size_t kLeastNameWidth = 16;

/// A run that missed its target is infinitely slow.
std::string time_to_target(const std::vector<FinishedRun>& runs) {
  std::vector<double> seconds;
  for (const FinishedRun& run : runs) {
    seconds.push_back(run.seconds_to_target.value_or(std::numeric_limits<double>::infinity()));
  }
  if (seconds.empty()) return "";
  const double median = median_interval(seconds).median;
  if (median == std::numeric_limits<double>::infinity()) return "missed";
  return median < 1 ? fmt::format("{:.1f} ms", median * 1e3) : fmt::format("{:.2f} s", median);
}

std::string median_of(const std::vector<FinishedRun>& runs, double FinishedRun::*field) {
  std::vector<double> values;
  for (const FinishedRun& run : runs) values.push_back(run.*field);
  return values.empty() ? "" : fmt::format("{:.0f}", median_interval(values).median);
}

std::string median_metric(const std::vector<FinishedRun>& runs) {
  std::vector<double> values;
  for (const FinishedRun& run : runs) {
    if (run.metric) values.push_back(*run.metric);
  }
  return values.empty() ? "" : fmt::format("{:.4g}", median_interval(values).median);
}

/// Names tell cells apart at both ends, so they lose their middle where there is no room.
std::string shortened(const std::string& name, std::size_t width) {
  if (name.size() <= width) return name;
  const std::size_t head = (width - 2) / 2;
  return name.substr(0, head) + ".." + name.substr(name.size() - (width - 2 - head));
}

/// Columns and rows of the terminal.
winsize terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    size.ws_col = 80;
    size.ws_row = 24;
  }
  return size;
}

}  // namespace

MatrixTable::MatrixTable(const MatrixPlan& plan)
    : plan_(plan), rows_(plan.cells.size()), terminal_(isatty(STDOUT_FILENO) != 0) {
  for (const MatrixCell& cell : plan.cells) name_width_ = std::max(name_width_, cell.name.size());
}

void MatrixTable::add(std::size_t cell, const FinishedRun& run) { rows_[cell].runs.push_back(run); }

void MatrixTable::add_crash(std::size_t cell) { ++rows_[cell].crashes; }

std::ptrdiff_t MatrixTable::Row::count(Status status) const {
  return std::count_if(runs.begin(), runs.end(),
                       [&](const FinishedRun& run) { return run.status == status; });
}

std::string MatrixTable::row_text(std::size_t cell, std::size_t name_width) const {
  const Row& row = rows_[cell];
  return fmt::format("{:<{}} {:>3}/{:<3} {:>5} {:>11} {:>9} {:>12}{}",
                     shortened(plan_.cells[cell].name, name_width), name_width, row.runs.size(),
                     plan_.seeds.size(), row.count(Status::Reached), time_to_target(row.runs),
                     median_metric(row.runs), median_of(row.runs, &FinishedRun::examples_per_s),
                     row.failed() == 0 ? "" : fmt::format("  {} failed", row.failed()));
}

void MatrixTable::begin(std::size_t cell, std::uint64_t seed) {
  under_way_ = fmt::format("{} seed {}", plan_.cells[cell].name, seed);
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

void MatrixTable::redraw() {
  const winsize size = terminal_size();
  const bool failures =
      std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.failed() > 0; });
  const std::size_t taken = kNumbersWidth + (failures ? kFailedWidth : 0);
  const std::size_t columns = std::max<std::size_t>(size.ws_col, taken + kLeastNameWidth);
  const std::size_t name_width = std::min(name_width_, columns - taken);
  std::vector<std::string> lines = {fmt::format("{:<{}} {:>7} {:>5} {:>11} {:>9} {:>12}", "cell",
                                                name_width, "runs", "hit", "to target", "metric",
                                                "examples/s")};
  const std::size_t room = size.ws_row > 6 ? size.ws_row - 4U : 2U;
  for (std::size_t cell = 0; cell < rows_.size() && lines.size() < room; ++cell) {
    lines.push_back(row_text(cell, name_width));
  }
  if (lines.size() <= rows_.size()) {
    lines.push_back(fmt::format("... and {} cells more", rows_.size() + 1 - lines.size()));
  }
  lines.push_back(under_way_);
  std::string text = drawn_ > 0 ? fmt::format("\x1b[{}A\r", drawn_) : "";
  for (std::string& line : lines) {
    if (line.size() >= size.ws_col) line.resize(size.ws_col - 1U);
    text += "\x1b[K" + line + "\n";
  }
  drawn_ = lines.size();
  fmt::print("{}\x1b[J", text);
  std::fflush(stdout);
}

}  // namespace regatta
