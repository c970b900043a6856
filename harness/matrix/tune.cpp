// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/judge/cell_runs.h"
#include "harness/judge/statistics.h"
#include "harness/plan/race_flags.h"
#include "harness/system/duration.h"
#include "workloads/workload.h"

namespace regatta::matrix {
namespace {

constexpr const char* kStraggler = "--straggler";

MatrixCell without_straggler(const MatrixCell& cell) {
  MatrixCell base{.workload = cell.workload, .strategy = cell.strategy, .settings = {}};
  base.settings = {cell.settings.front()};
  FlagValues flags;
  for (std::size_t i = 0; i + 1 < cell.arguments.size(); i += 2) {
    if (cell.arguments[i] == kStraggler) continue;
    flags.emplace_back(cell.arguments[i], cell.arguments[i + 1]);
  }
  return with_flags(std::move(base), flags);
}

/// Every combination of values for the flags that the cell lacks.
std::vector<FlagValues> settings_for(const MatrixCell& cell, const TuneBlock& block) {
  std::vector<FlagValues> settings(1);
  for (const auto& [flag, values] : block.choices) {
    const auto& own = cell.arguments;
    if (std::find(own.begin(), own.end(), flag) != own.end()) continue;
    std::vector<FlagValues> next;
    for (const FlagValues& setting : settings) {
      for (const std::string& value : values) {
        next.push_back(setting);
        next.back().emplace_back(flag, value);
      }
    }
    settings = std::move(next);
  }
  return settings;
}

/// Returns the rank of a setting by its runs, lower is better: the number of misses, then time or
/// metric.
std::pair<std::size_t, double> rank_of(const std::vector<judge::FinishedRun>& runs,
                                       std::size_t seeds, workloads::Metric metric) {
  double seconds = 0;
  double last = runs.size() < seeds ? judge::kInfinity : 0;
  std::size_t reached = 0;
  for (const judge::FinishedRun& run : runs) {
    if (run.status == record::Status::Reached && run.seconds_to_target) {
      seconds += std::log(*run.seconds_to_target);
      ++reached;
    }
    const bool is_told = run.status != record::Status::Failed && run.metric;
    last += !is_told                            ? judge::kInfinity
            : metric == workloads::Metric::Loss ? *run.metric
                                                : -*run.metric;
  }
  return {seeds - reached, reached > 0 ? seconds / static_cast<double>(reached) : last};
}

std::string setting_text(const FlagValues& setting) {
  std::vector<std::string> words;
  for (const auto& [flag, value] : setting) {
    words.push_back(fmt::format("{}={}", flag.substr(2), value));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

Tuning::Tuning(const MatrixPlan& plan) : seeds_(plan.tune.seeds) {
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const MatrixCell& cell = plan.cells[i];
    const auto block = std::find_if(plan.tune.blocks.begin(), plan.tune.blocks.end(),
                                    [&](const TuneBlock& each) { return is_for(each, cell); });
    if (block == plan.tune.blocks.end()) continue;
    if (plan::parse_run(cell.arguments).steps.value_or(judge::kFewestSteps) < judge::kFewestSteps)
      continue;
    MatrixCell base = without_straggler(cell);
    std::vector<FlagValues> settings = settings_for(base, *block);
    if (settings.size() < 2) continue;
    auto group = std::find_if(groups_.begin(), groups_.end(),
                              [&](const Group& each) { return each.base.name == base.name; });
    if (group == groups_.end()) {
      group = groups_.insert(group, {.base = std::move(base), .settings = settings, .cells = {}});
    }
    group->cells.push_back(i);
  }
}

MatrixPlan Tuning::trials() const {
  MatrixPlan plan{.seeds = seeds_, .cells = {}};
  for (const Group& group : groups_) {
    for (const FlagValues& setting : group.settings) {
      plan.cells.push_back(with_flags(group.base, setting));
    }
  }
  return plan;
}

std::map<std::string, std::string> Tuning::choose(
    MatrixPlan& plan,
    const std::function<std::vector<judge::FinishedRun>(const MatrixCell&)>& runs_of) const {
  struct Chosen {
    std::size_t runs = 0;
    double seconds = 0;
    std::map<std::string, std::vector<std::string>> cells;  ///< by setting
  };
  std::map<std::string, Chosen> by_workload;
  for (const Group& group : groups_) {
    Chosen& chosen = by_workload[group.base.workload];
    const FlagValues* best = nullptr;
    std::pair<std::size_t, double> least;
    for (const FlagValues& setting : group.settings) {
      const std::vector<judge::FinishedRun> runs = runs_of(with_flags(group.base, setting));
      if (runs.empty()) continue;
      chosen.runs += runs.size();
      for (const judge::FinishedRun& run : runs) chosen.seconds += run.seconds;
      const auto rank =
          rank_of(runs, seeds_.size(), workloads::find_workload(group.base.workload).metric);
      if (best == nullptr || rank < least) {
        best = &setting;
        least = rank;
      }
    }
    if (best == nullptr) continue;
    for (const std::size_t cell : group.cells) {
      plan.cells[cell] = with_flags(std::move(plan.cells[cell]), *best);
    }
    chosen.cells[setting_text(*best)].push_back(
        group.base.name.substr(group.base.workload.size() + 1));
  }
  std::map<std::string, std::string> texts;
  for (const auto& [workload, chosen] : by_workload) {
    std::vector<std::string> parts;
    for (const auto& [setting, cells] : chosen.cells) {
      parts.push_back(fmt::format("{} for {}", setting, fmt::join(cells, ", ")));
    }
    texts[workload] = fmt::format("settings chosen by {} runs on seeds {} ({}): {}", chosen.runs,
                                  fmt::join(seeds_, ", "), system::rough_duration(chosen.seconds),
                                  fmt::join(parts, "; "));
  }
  return texts;
}

}  // namespace regatta::matrix
