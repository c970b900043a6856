// SPDX-License-Identifier: Apache-2.0
//
// The verdicts of a comparison as text, as Markdown for a pull request, as JSON; and the exit code.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/judge/compare.h"
#include "harness/judge/statistics.h"
#include "harness/system/terminal.h"
#include "kernels/base/error.h"

namespace regatta::judge {
namespace {

constexpr int kRegressed = 3;
constexpr int kNotEnoughData = 4;

/// One line of a table.
struct Row {
  const CellComparison* cell;
  std::string measure;
  const Comparison* comparison;
};

std::vector<Row> rows_of(const std::vector<CellComparison>& cells) {
  std::vector<Row> rows;
  for (const CellComparison& cell : cells) {
    rows.push_back({&cell, "speed", &cell.speed});
    rows.push_back({&cell, "convergence", &cell.convergence});
  }
  return rows;
}

std::string percent(double ratio) { return fmt::format("{:+.1f} %", 100 * (ratio - 1)); }

std::string change_text(const Comparison& comparison) {
  if (!comparison.ratio) return "";
  if (std::isinf(*comparison.ratio)) return "never reached";
  if (*comparison.ratio == 0) return "reached at last";
  return percent(*comparison.ratio);
}

/// Formats an interval of ratios: `-1.2 % to +3.4 %`; empty if there is none, or for 0 to infinity.
std::string interval_text(const Comparison& comparison) {
  if (!comparison.interval) return "";
  const auto [low, high] = *comparison.interval;
  if (low == high && !(low > 0 && std::isfinite(low))) return change_text(comparison);
  if (std::isinf(high)) return low == 0 ? "" : percent(low) + " or more";
  return low == 0 ? percent(high) + " or less" : percent(low) + " to " + percent(high);
}

std::string missing_text(const CellComparison& cell) {
  if (cell.base_runs == 0) return "only in head";
  if (cell.head_runs == 0) return "only in base";
  if (cell.head_failed > 0 || cell.base_failed > 0) {
    return fmt::format("failed: {} of {}, then {} of {}", cell.base_failed, cell.base_runs,
                       cell.head_failed, cell.head_runs);
  }
  return "";
}

std::string note_of(const Row& row) {
  const bool first = row.comparison == &row.cell->speed;
  std::string note = first ? missing_text(*row.cell) : "";
  const auto add = [&note](const std::string& text) {
    note += (note.empty() || text.empty() ? "" : "; ") + text;
  };
  add(row.comparison->note);
  if (row.comparison->seeds > 0) add(fmt::format("decided after {} seeds", row.comparison->seeds));
  return note;
}

bool fails_newly(const CellComparison& cell) {
  return cell.base_failed == 0 && cell.head_failed > 0 && cell.base_runs > 0;
}

bool is_open(const Row& row) {
  const bool speed = row.comparison == &row.cell->speed;
  return row.comparison->verdict == Verdict::NotEnoughData ||
         (speed && row.comparison->verdict == Verdict::NotMeasured);
}

int exit_code(const std::vector<CellComparison>& cells) {
  const std::vector<Row> rows = rows_of(cells);
  const bool regressed = std::any_of(rows.begin(), rows.end(), [](const Row& row) {
    return row.comparison->verdict == Verdict::Regressed || fails_newly(*row.cell);
  });
  if (regressed) return kRegressed;
  return rows.empty() || std::any_of(rows.begin(), rows.end(), is_open) ? kNotEnoughData : 0;
}

/// Counts the verdicts of each kind, in the order of importance to a reader.
std::string headline(const std::vector<CellComparison>& cells) {
  const std::vector<Row> rows = rows_of(cells);
  std::string line;
  for (const Verdict verdict : {Verdict::Regressed, Verdict::Improved, Verdict::NotEnoughData,
                                Verdict::NotMeasured, Verdict::Unchanged}) {
    const auto count = std::count_if(rows.begin(), rows.end(), [verdict](const Row& row) {
      return row.comparison->verdict == verdict;
    });
    if (count == 0) continue;
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", count, to_string(verdict));
  }
  const auto failing = std::count_if(cells.begin(), cells.end(), fails_newly);
  if (failing > 0) line += fmt::format(", {} with failed runs that base has not", failing);
  return line;
}

/// Prints each cell, and below it its measures and notes, within 80 columns.
void print_text(const std::vector<CellComparison>& cells) {
  fmt::print("  {:<11}  {:<15}  {:>15}  {:>22}\n", "measure", "verdict", "change", "interval");
  for (const Row& row : rows_of(cells)) {
    if (row.comparison == &row.cell->speed) fmt::print("{}\n", row.cell->name);
    const std::string line = fmt::format(
        "  {:<11}  {:<15}  {:>15}  {:>22}", row.measure, to_string(row.comparison->verdict),
        change_text(*row.comparison), interval_text(*row.comparison));
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
    if (const std::string note = note_of(row); !note.empty()) fmt::print("    {}\n", note);
  }
  fmt::print(
      "change: from base to head, + is worse; interval: the changes that these runs\n"
      "cannot exclude; unchanged: each of them is too small to matter\n{}\n",
      headline(cells));
}

void print_markdown(const std::vector<CellComparison>& cells) {
  fmt::print("**{}**\n\n| cell | runs | measure | verdict | change | interval | |\n",
             headline(cells));
  fmt::print("| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const Row& row : rows_of(cells)) {
    const bool alarm = row.comparison->verdict == Verdict::Regressed;
    const std::string verdict(to_string(row.comparison->verdict));
    fmt::print("| {} | {} → {} | {} | {} | {} | {} | {} |\n", row.cell->name, row.cell->base_runs,
               row.cell->head_runs, row.measure, alarm ? "**" + verdict + "**" : verdict,
               change_text(*row.comparison), interval_text(*row.comparison), note_of(row));
  }
}

nlohmann::ordered_json to_json(const Comparison& comparison) {
  const auto number = [](const std::optional<double>& value) {
    return value && std::isfinite(*value) ? nlohmann::ordered_json(*value)
                                          : nlohmann::ordered_json(nullptr);
  };
  const auto [low, high] = comparison.interval.value_or(RatioInterval{0, kInfinity});
  return {{"verdict", to_string(comparison.verdict)},
          {"ratio", number(comparison.ratio)},
          {"low", number(low)},
          {"high", number(high)},
          {"seeds", comparison.seeds},
          {"note", comparison.note}};
}

void print_json(const std::vector<CellComparison>& cells) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const CellComparison& cell : cells) {
    rows.push_back({{"cell", cell.name},
                    {"source", cell.source},
                    {"base_runs", cell.base_runs},
                    {"head_runs", cell.head_runs},
                    {"base_failed", cell.base_failed},
                    {"head_failed", cell.head_failed},
                    {"speed", to_json(cell.speed)},
                    {"convergence", to_json(cell.convergence)}});
  }
  fmt::print("{}\n", rows.dump(2));
}

Measurements measurements_in(const std::string& path) {
  FinishedRuns records = finished_runs(path);
  if (records.runs.empty()) {
    throw RunError(ErrorKind::Usage, path +
                                         " holds no record; name a folder that regatta run, "
                                         "regatta matrix or ci/regression wrote to");
  }
  for (const std::string& line : records.warnings)
    fmt::print(stderr, "regatta: {}\n", system::short_line(line));
  return {.runs = std::move(records.runs)};
}

}  // namespace

std::string note_on_stopping(const Measurements& base, const Measurements& head) {
  const auto rounds = [](const Measurements& side) {
    return std::ranges::count_if(side.runs, [](const FinishedRun& run) { return run.has_round; });
  };
  const std::size_t from = base.runs.size(), to = head.runs.size();
  const auto some = static_cast<std::size_t>(rounds(base) + rounds(head));
  if (some == 0 || some == from + to) return "";
  return fmt::format(
      "runs differ in their stopping rule: {} of {} in base and {} of {} in head are of a race "
      "with --decide; the intervals assume numbers of runs that were fixed before",
      rounds(base), from, rounds(head), to);
}

int run_compare(const CompareRequest& request) {
  const Measurements base = measurements_in(request.base), head = measurements_in(request.head);
  if (const std::string note = note_on_stopping(base, head); !note.empty()) {
    fmt::print(stderr, "regatta: warning: {}\n", note);
  }
  const std::vector<CellComparison> cells = compare(base, head, request.options);
  switch (request.format) {
    case CompareFormat::Text: print_text(cells); break;
    case CompareFormat::Markdown: print_markdown(cells); break;
    case CompareFormat::Json: print_json(cells); break;
  }
  return exit_code(cells);
}

}  // namespace regatta::judge
