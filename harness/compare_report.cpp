// SPDX-License-Identifier: Apache-2.0
//
// The verdicts of a comparison as text, as Markdown for a pull request, as JSON; and the exit code.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/compare.h"
#include "kernels/graph/error.h"

namespace regatta {
namespace {

constexpr int kRegressed = 3;
constexpr int kInconclusive = 4;

std::string change_text(const Comparison& comparison) {
  if (!comparison.ratio) return "";
  if (std::isinf(*comparison.ratio)) return "never reached";
  if (*comparison.ratio == 0) return "reached at last";
  return fmt::format("{:+.1f} %", 100 * (*comparison.ratio - 1));
}

std::string why(const Comparison& comparison) {
  if (comparison.verdict != Verdict::Inconclusive) return "";
  if (!comparison.detectable) return "too few runs to show anything; more seeds";
  return fmt::format("could have shown {:.1f} %", 100 * *comparison.detectable);
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

void print_text(const std::vector<CellComparison>& cells) {
  std::size_t width = 4;
  for (const CellComparison& cell : cells) width = std::max(width, cell.name.size());
  fmt::print("{:<{}}  {:<12} {:<14} {:>14}  {}\n", "cell", width, "measure", "verdict", "change",
             "");
  for (const CellComparison& cell : cells) {
    for (const auto& [measure, comparison] :
         {std::pair("speed", &cell.speed), std::pair("convergence", &cell.convergence)}) {
      const bool speed = comparison == &cell.speed;
      std::string note = why(*comparison);
      if (speed && !missing_text(cell).empty()) {
        note = note.empty() ? missing_text(cell) : missing_text(cell) + "; " + note;
      }
      fmt::print("{:<{}}  {:<12} {:<14} {:>14}  {}\n", speed ? cell.name : "", width, measure,
                 to_string(comparison->verdict), change_text(*comparison), note);
    }
  }
}

void print_markdown(const std::vector<CellComparison>& cells) {
  fmt::print(
      "| cell | runs | speed | | convergence | | |\n| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const CellComparison& cell : cells) {
    fmt::print("| {} | {} → {} | {} | {} | {} | {} | {} |\n", cell.name, cell.base_runs,
               cell.head_runs, to_string(cell.speed.verdict), change_text(cell.speed),
               to_string(cell.convergence.verdict), change_text(cell.convergence),
               missing_text(cell).empty() ? why(cell.speed) : missing_text(cell));
  }
}

nlohmann::ordered_json to_json(const Comparison& comparison) {
  const auto number = [](const std::optional<double>& value) {
    return value && std::isfinite(*value) ? nlohmann::ordered_json(*value)
                                          : nlohmann::ordered_json(nullptr);
  };
  return {{"verdict", to_string(comparison.verdict)},
          {"ratio", number(comparison.ratio)},
          {"p", comparison.p},
          {"detectable", number(comparison.detectable)}};
}

void print_json(const std::vector<CellComparison>& cells) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const CellComparison& cell : cells) {
    rows.push_back({{"cell", cell.name},
                    {"base_runs", cell.base_runs},
                    {"head_runs", cell.head_runs},
                    {"base_failed", cell.base_failed},
                    {"head_failed", cell.head_failed},
                    {"speed", to_json(cell.speed)},
                    {"convergence", to_json(cell.convergence)}});
  }
  fmt::print("{}\n", rows.dump(2));
}

int exit_code(const std::vector<CellComparison>& cells) {
  const auto any = [&cells](const auto& rule) {
    return std::any_of(cells.begin(), cells.end(), rule);
  };
  const auto has = [](const CellComparison& cell, Verdict verdict) {
    return cell.speed.verdict == verdict || cell.convergence.verdict == verdict;
  };
  if (any([&](const auto& cell) {
        return has(cell, Verdict::Regressed) ||
               (cell.base_failed == 0 && cell.head_failed > 0 && cell.base_runs > 0);
      })) {
    return kRegressed;
  }
  const bool open = cells.empty() || any([&](const auto& cell) {
                      return has(cell, Verdict::Inconclusive) || cell.base_runs == 0 ||
                             cell.head_runs == 0 || cell.speed.verdict == Verdict::NotMeasured;
                    });
  return open ? kInconclusive : 0;
}

std::vector<FinishedRun> runs_in(const std::string& folder) {
  FinishedRuns found = finished_runs(folder);
  if (found.runs.empty()) {
    throw RunError(ErrorKind::Usage,
                   folder +
                       "/records.jsonl holds no record; name a folder that regatta run or "
                       "regatta matrix wrote to");
  }
  if (found.other_lines > 0) {
    fmt::print(stderr, "regatta: {}/records.jsonl: {} lines are no records and are left out\n",
               folder, found.other_lines);
  }
  return std::move(found.runs);
}

}  // namespace

int run_compare(const CompareRequest& request) {
  const std::vector<CellComparison> cells =
      compare(runs_in(request.base), runs_in(request.head), request.options);
  switch (request.format) {
    case CompareFormat::Text: print_text(cells); break;
    case CompareFormat::Markdown: print_markdown(cells); break;
    case CompareFormat::Json: print_json(cells); break;
  }
  return exit_code(cells);
}

}  // namespace regatta
