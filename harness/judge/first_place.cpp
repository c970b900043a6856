// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/first_place.h"

#include <algorithm>
#include <cmath>

#include "harness/judge/compare.h"

namespace regatta::judge {
namespace {

using Sample = std::vector<double>;

/// The least difference that matters, as a logarithm; the same as for speed in `regatta compare`.
double that_matters() { return std::log1p(CompareOptions().speed_effect); }

Sample seconds_to_target(const CellJudgement& cell) {
  Sample sample;
  for (const record::Record* run : cell.runs) {
    const auto& ns = run->training_time_to_target_ns;
    sample.push_back(ns ? static_cast<double>(*ns) * 1e-9 : kInfinity);
  }
  return sample;
}

/// A workload's first cell and its competitors, before any test.
struct Contest {
  WorkloadJudgement* workload;
  std::vector<CellJudgement*> others;  ///< compared with the first
  double alpha = kAlpha;               ///< share of the page's error, for each kind of test

  CellJudgement& first() const { return workload->cells.front(); }
};

/// Finds the first, if any, and the cells to compare: those that reached the target in the median,
/// or the second if only the first did.
std::optional<Contest> contest_of(WorkloadJudgement& workload) {
  std::vector<CellJudgement>& cells = workload.cells;
  const auto end = std::find_if(cells.begin(), cells.end(),
                                [](const CellJudgement& cell) { return !cell.claims_time; });
  for (auto cell = cells.begin(); cell != end; ++cell) {
    const bool reached = std::isfinite(cell->typical_seconds);
    cell->against_first.standing = reached ? Standing::Open : Standing::Missed;
  }
  if (end == cells.begin() || std::isinf(cells.front().typical_seconds)) return std::nullopt;
  cells.front().against_first.standing = Standing::First;
  workload.first.certainty = Certainty::Alone;
  workload.first.group = 1;
  if (end - cells.begin() == 1) return std::nullopt;
  if (const double first = cells[0].typical_seconds; first > 0) {
    workload.first.ahead = cells[1].typical_seconds / first;
  }
  Contest contest{.workload = &workload, .others = {&cells[1]}};
  for (auto cell = cells.begin() + 2; cell < end; ++cell) {
    if (std::isfinite(cell->typical_seconds)) contest.others.push_back(&*cell);
  }
  return contest;
}

bool has_enough_runs(const CellJudgement& first, const CellJudgement& other) {
  return other.against_first.ratio ||
         std::min(first.runs.size(), other.runs.size()) >= kFewestPairs;
}

/// Counts the first and the cells compared with it.
std::size_t cells_of(const Contest& contest) { return contest.others.size() + 1; }

void pair_up(Contest& contest) {
  std::vector<MeanRatio*> ratios;
  for (CellJudgement* other : contest.others) {
    other->against_first.ratio = paired_ratio(other->runs, contest.first().runs);
    if (other->against_first.ratio) ratios.push_back(&other->against_first.ratio->time);
  }
  borrow_spread(ratios);
}

void hold_against(const Contest& contest, CellJudgement& cell) {
  AgainstFirst& against = cell.against_first;
  if (!has_enough_runs(contest.first(), cell)) return;
  const std::size_t cells = cells_of(contest);
  double p = 1;
  if (against.ratio) {
    against.interval = interval_of(against.ratio->time, {contest.alpha, cells});
    p = p_of(against.ratio->time, 1, cells);
  } else {
    p = mann_whitney_p(seconds_to_target(cell), seconds_to_target(contest.first())) *
        static_cast<double>(cells * (cells - 1) / 2);
  }
  against.p = std::min(1.0, p * kAlpha / contest.alpha);
  if (against.standing == Standing::Missed) return;
  const double matters = std::exp(that_matters());
  if (against.p < kAlpha) {
    against.standing = Standing::Slower;
  } else if (against.ratio && against.interval->high < matters &&
             against.interval->low > 1 / matters) {
    against.standing = Standing::Level;
  }
}

/// Finds the difference that these runs could show, and the seeds that would separate the group.
void look_ahead(const Contest& contest, const CellJudgement& cell) {
  FirstPlace& first = contest.workload->first;
  const AgainstFirst& against = cell.against_first;
  if (!against.ratio || against.standing == Standing::Level) return;
  const double shown = against.ratio->time.value / against.interval->low - 1;
  first.detectable = std::max(first.detectable.value_or(0), shown);
  // A smaller difference does not matter, but must then be shown to be smaller.
  const double difference = std::abs(std::log(against.ratio->time.value));
  const double distance = std::max(difference, that_matters() - difference);
  const std::optional<std::size_t> seeds =
      pairs_for(against.ratio->time, distance, {contest.alpha, cells_of(contest)});
  first.coarse |= !seeds;
  first.seeds = std::max(first.seeds.value_or(0), seeds.value_or(0));
}

bool is_told(const CellJudgement* cell) {
  return cell->against_first.standing == Standing::Slower ||
         cell->against_first.standing == Standing::Missed;
}

Certainty certainty_of(const Contest& contest) {
  const auto& others = contest.others;
  const bool enough = std::any_of(others.begin(), others.end(), [&](const CellJudgement* cell) {
    return has_enough_runs(contest.first(), *cell);
  });
  if (!enough) return Certainty::TooFew;
  const bool only = others.front()->against_first.standing == Standing::Missed;
  if (only) return others.front()->against_first.p < kAlpha ? Certainty::Sure : Certainty::Open;
  if (std::all_of(others.begin(), others.end(), is_told)) {
    const double ahead = contest.workload->first.ahead.value_or(1);
    return std::log(ahead) >= that_matters() ? Certainty::Sure : Certainty::Close;
  }
  const bool level = std::all_of(others.begin(), others.end(), [](const CellJudgement* cell) {
    return is_told(cell) || cell->against_first.standing == Standing::Level;
  });
  return level ? Certainty::Level : Certainty::Open;
}

}  // namespace

void judge_first_places(std::vector<WorkloadJudgement>& workloads) {
  std::vector<Contest> contests;
  for (WorkloadJudgement& workload : workloads) {
    if (std::optional<Contest> contest = contest_of(workload)) contests.push_back(*contest);
  }
  const auto is_paired = [](const CellJudgement* cell) {
    return cell->against_first.ratio.has_value();
  };
  for (Contest& contest : contests) {
    pair_up(contest);
    const auto paired = std::ranges::count_if(contest.others, is_paired);
    const bool both_kinds = paired > 0 && paired < std::ssize(contest.others);
    contest.alpha = kAlpha / static_cast<double>(contests.size()) / (both_kinds ? 2 : 1);
    FirstPlace& first = contest.workload->first;
    first.confidence = 1 - contest.alpha;
    for (CellJudgement* other : contest.others) hold_against(contest, *other);
    first.certainty = certainty_of(contest);
    for (const CellJudgement* other : contest.others) {
      if (is_told(other)) continue;
      ++first.group;
      look_ahead(contest, *other);
    }
  }
}

}  // namespace regatta::judge
