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

std::string MatrixTable::row_text(std::size_t cell) const {
  const Row& row = rows_[cell];
  const auto count = [&](Status status) {
    return std::count_if(row.runs.begin(), row.runs.end(),
                         [&](const FinishedRun& run) { return run.status == status; });
  };
  const std::ptrdiff_t failed = count(Status::Failed) + row.crashes;
  return fmt::format("{:<{}} {:>3}/{:<3} {:>5} {:>11} {:>9} {:>12}{}", plan_.cells[cell].name,
                     name_width_, row.runs.size(), plan_.seeds.size(), count(Status::Reached),
                     time_to_target(row.runs), median_metric(row.runs),
                     median_of(row.runs, &FinishedRun::examples_per_s),
                     failed == 0 ? "" : fmt::format("  {} failed", failed));
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
  std::vector<std::string> lines = {fmt::format("{:<{}} {:>7} {:>5} {:>11} {:>9} {:>12}", "cell",
                                                name_width_, "runs", "hit", "to target", "metric",
                                                "examples/s")};
  const std::size_t room = size.ws_row > 6 ? size.ws_row - 4U : 2U;
  for (std::size_t cell = 0; cell < rows_.size() && lines.size() < room; ++cell) {
    lines.push_back(row_text(cell));
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
