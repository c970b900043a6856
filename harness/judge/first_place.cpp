// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/first_place.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "harness/judge/compare.h"

namespace regatta::judge {
namespace {

using Sample = std::vector<double>;

Sample seconds_to_target(const CellJudgement& cell) {
  Sample sample;
  for (const record::Record* run : cell.runs) {
    const auto& ns = run->training_time_to_target_ns;
    sample.push_back(ns ? static_cast<double>(*ns) * 1e-9 : kInfinity);
  }
  return sample;
}

using Examples = std::pair<double, double>;  // a sum of logarithms, and their number

/// Sums the examples to the target of runs that learn alike, by learning_key().
std::map<std::string, Examples> examples_by_learning(const std::vector<CellJudgement>& cells) {
  std::map<std::string, Examples> sums;
  for (const CellJudgement& cell : cells) {
    for (const record::Record* run : cell.runs) {
      const std::string key = learning_key(*run);
      const auto examples = static_cast<double>(run->examples_to_target.value_or(0));
      if (key.empty() || examples <= 0) continue;
      sums[key].first += std::log(examples);
      sums[key].second += 1;
    }
  }
  return sums;
}

/// Adjusts times to the target if cells lack some seeds of the workload: fits, by least squares, a
/// factor for each cell and each seed. Runs that learn alike count with the mean of their examples.
/// Cells with another run that missed the target are not changed.
void balance_seeds(std::vector<CellJudgement>& cells) {
  constexpr int kRounds = 100;
  const std::map<std::string, Examples> examples = examples_by_learning(cells);
  std::map<std::uint64_t, double> of_seed;
  std::vector<std::vector<std::pair<std::uint64_t, double>>> times;
  std::vector<CellJudgement*> balanced;
  for (CellJudgement& cell : cells) {
    std::vector<std::pair<std::uint64_t, double>> own;
    for (const record::Record* run : cell.runs) {
      const std::int64_t ns = run->training_time_to_target_ns.value_or(0);
      if (const auto found = examples.find(learning_key(*run)); found != examples.end()) {
        const auto& [sum, count] = found->second;
        own.emplace_back(run->cell.seed, sum / count - std::log(run->examples_per_s));
      } else if (ns > 0) {
        own.emplace_back(run->cell.seed, std::log(static_cast<double>(ns) * 1e-9));
      }
    }
    if (own.size() < cell.runs.size() || !cell.claims_time) continue;
    for (const auto& [seed, time] : own) of_seed[seed] = 0;
    times.push_back(std::move(own));
    balanced.push_back(&cell);
  }
  std::vector<double> of_cell(times.size());
  for (int round = 0; round < kRounds; ++round) {
    std::map<std::uint64_t, std::pair<double, double>> rests;  // sum and count
    for (std::size_t i = 0; i < times.size(); ++i) {
      of_cell[i] = 0;
      for (const auto& [seed, time] : times[i]) {
        of_cell[i] += (time - of_seed[seed]) / static_cast<double>(times[i].size());
      }
      for (const auto& [seed, time] : times[i]) {
        rests[seed].first += time - of_cell[i];
        rests[seed].second += 1;
      }
    }
    double mean = 0;
    for (const auto& [seed, rest] : rests) {
      of_seed[seed] = rest.first / rest.second;
      mean += of_seed[seed] / static_cast<double>(rests.size());
    }
    for (auto& [seed, effect] : of_seed) effect -= mean;
  }
  for (std::size_t i = 0; i < times.size(); ++i)
    balanced[i]->typical_seconds = std::exp(of_cell[i]);
}

/// A workload's first cell and its competitors, before any test.
struct Contest {
  WorkloadJudgement* workload;
  std::vector<CellJudgement*> others;  ///< compared with the first
  double alpha = kAlpha;               ///< share of the page's error, for each kind of test

  Stopping stopping() const { return workload->rounds ? Stopping::Rounds : Stopping::Fixed; }
  /// The least difference that matters, as a logarithm.
  double that_matters() const {
    const auto& rounds = workload->rounds;
    return std::log1p(rounds ? rounds->precision : CompareOptions().speed_effect);
  }
  Certain at(const MeanRatio& ratio) const {
    const Certain whole{.alpha = alpha, .cells = others.size() + 1};
    return stopping() == Stopping::Rounds ? at_look(whole, ratio.pairs) : whole;
  }
  CellJudgement& first() const { return workload->cells.front(); }
};

/// Reads the rounds from the records; empty if none has a round.
std::optional<RoundsOfRace> rounds_of(const WorkloadJudgement& workload) {
  std::optional<RoundsOfRace> rounds;
  for (const CellJudgement& cell : workload.cells) {
    for (const record::Record* run : cell.runs) {
      if (!run->round) continue;
      if (!rounds) rounds = {.precision = run->round->precision};
      rounds->rounds = std::max(rounds->rounds, run->round->number);
      rounds->precision = std::min(rounds->precision, run->round->precision);
    }
  }
  return rounds;
}

/// Whether it is certain that the cell's median run misses the target, or that it cannot run.
bool misses_for_certain(const CellJudgement& cell) {
  constexpr std::int64_t kMisses = 7;    // 1 % if half of the runs reached it
  constexpr std::int64_t kFailures = 2;  // two failures are hardly chance
  return std::isinf(cell.typical_seconds) && cell.reached == 0 &&
         (std::ssize(cell.runs) >= kMisses || cell.failed >= kFailures);
}

/// Finds the first, if any, and the cells to compare: those that reached the target in the median,
/// or the second if only the first did. With rounds, all others are compared until they are out.
std::optional<Contest> contest_of(WorkloadJudgement& workload) {
  std::vector<CellJudgement>& cells = workload.cells;
  const auto end = std::find_if(cells.begin(), cells.end(),
                                [](const CellJudgement& cell) { return !cell.claims_time; });
  for (auto cell = cells.begin(); cell != end; ++cell) {
    const bool missed =
        workload.rounds ? misses_for_certain(*cell) : std::isinf(cell->typical_seconds);
    cell->against_first.standing = missed ? Standing::Missed : Standing::Open;
  }
  if (end == cells.begin() || std::isinf(cells.front().typical_seconds)) return std::nullopt;
  cells.front().against_first.standing = Standing::First;
  workload.certainty = Certainty::Alone;
  if (end - cells.begin() == 1) return std::nullopt;
  Contest contest{.workload = &workload, .others = {&cells[1]}};
  for (auto cell = cells.begin() + 2; cell < end; ++cell) {
    if (workload.rounds || std::isfinite(cell->typical_seconds)) contest.others.push_back(&*cell);
  }
  return contest;
}

bool has_enough_runs(const CellJudgement& first, const CellJudgement& other) {
  return other.against_first.ratio ||
         std::min(first.runs.size(), other.runs.size()) >= kFewestPairs;
}

void pair_up(Contest& contest) {
  std::vector<MeanRatio*> ratios;
  for (CellJudgement* other : contest.others) {
    other->against_first.ratio =
        paired_ratio(other->runs, contest.first().runs, contest.stopping());
    if (other->against_first.ratio) ratios.push_back(&other->against_first.ratio->time);
  }
  borrow_spread(ratios, contest.stopping());
}

/// The p value of the cell's comparison with the first, before its share of the page's error.
double p_against_first(const Contest& contest, const CellJudgement& cell) {
  const std::size_t cells = contest.others.size() + 1;
  if (const auto& ratio = cell.against_first.ratio) {
    const Certain certain = contest.at(ratio->time);
    return p_of(ratio->time, 1, certain.cells) * contest.alpha / certain.alpha;
  }
  if (contest.stopping() == Stopping::Rounds) return 1;
  return mann_whitney_p(seconds_to_target(cell), seconds_to_target(contest.first())) *
         static_cast<double>(cells * (cells - 1) / 2);
}

void hold_against(const Contest& contest, CellJudgement& cell) {
  AgainstFirst& against = cell.against_first;
  if (!has_enough_runs(contest.first(), cell)) return;
  if (against.ratio) {
    against.interval = interval_of(against.ratio->time, contest.at(against.ratio->time));
    if (against.ratio->is_least) against.interval->high = kInfinity;
  }
  against.p = std::min(1.0, p_against_first(contest, cell) * kAlpha / contest.alpha);
  if (against.standing == Standing::Missed) return;
  if (against.p < kAlpha) {
    const bool is_slower = !against.interval || against.interval->low > 1;
    against.standing = is_slower ? Standing::Slower : Standing::Open;
    return;
  }
  if (!against.interval) return;
  const double width = std::log(against.interval->high / against.interval->low);
  const double farthest =
      std::max(std::log(against.interval->high), -std::log(against.interval->low));
  const bool is_narrow = contest.stopping() == Stopping::Rounds
                             ? width <= 2 * contest.that_matters()
                             : farthest < contest.that_matters();
  if (is_narrow) against.standing = Standing::Level;
}

bool is_told(const CellJudgement* cell) {
  return cell->against_first.standing == Standing::Slower ||
         cell->against_first.standing == Standing::Missed;
}

Certainty certainty_of(const Contest& contest) {
  const auto& others = contest.others;
  const bool only = others.front()->against_first.standing == Standing::Missed;
  if (only) return others.front()->against_first.p < kAlpha ? Certainty::Sure : Certainty::Open;
  if (std::all_of(others.begin(), others.end(), is_told)) return Certainty::Sure;
  const bool level = std::all_of(others.begin(), others.end(), [](const CellJudgement* cell) {
    return is_told(cell) || cell->against_first.standing == Standing::Level;
  });
  return level ? Certainty::Level : Certainty::Open;
}

/// Compares the contestants with the fastest cell of `single` by the same test.
void compare_with_single(const Contest& contest) {
  std::vector<CellJudgement*> cells = {&contest.first()};
  cells.insert(cells.end(), contest.others.begin(), contest.others.end());
  const auto single = std::ranges::find_if(cells, [](const CellJudgement* cell) {
    return cell->runs.front()->cell.strategy == "single" && std::isfinite(cell->typical_seconds);
  });
  if (single == cells.end()) return;
  const auto& runs_of_single = (*single)->runs;
  std::vector<std::optional<PairedRatio>> ratios;
  std::vector<MeanRatio*> times;
  ratios.reserve(cells.size());
  for (const CellJudgement* cell : cells) {
    ratios.push_back(paired_ratio(cell->runs, runs_of_single, contest.stopping()));
    if (ratios.back() && cell != *single) times.push_back(&ratios.back()->time);
  }
  borrow_spread(times, contest.stopping());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    AgainstSingle against;
    const auto by_seed = ratios_by_seed(cells[i]->runs, runs_of_single);
    if (ratios[i]) {
      against.time = ratios[i]->time.value;
      against.interval = interval_of(ratios[i]->time, contest.at(ratios[i]->time));
      if (ratios[i]->is_least) against.interval->high = kInfinity;
    } else if (by_seed.size() == 1 && cells[i]->runs.size() == 1) {
      against.time = by_seed.front().second;  // one run has no interval
    } else {
      continue;
    }
    cells[i]->against_single = against;
  }
}

/// Notes the cells that were raced in fewer rounds than others because their place was decided.
void note_left_out(WorkloadJudgement& workload) {
  if (!workload.rounds) return;
  workload.rounds->is_decided = true;
  for (CellJudgement& cell : workload.cells) {
    const Standing standing = cell.against_first.standing;
    if (standing == Standing::Open) workload.rounds->is_decided = false;
    const bool is_out =
        standing == Standing::Slower || standing == Standing::Level || standing == Standing::Missed;
    if (!is_out) continue;
    std::int64_t last = 0;
    for (const record::Record* run : cell.runs) {
      if (run->round) last = std::max(last, run->round->number);
    }
    if (last < workload.rounds->rounds) cell.left_out = {.round = last, .standing = standing};
  }
}

}  // namespace

void rank(std::vector<CellJudgement>& cells) {
  balance_seeds(cells);
  const auto order = [](const CellJudgement& cell) {
    const double reached =
        static_cast<double>(cell.reached) / static_cast<double>(cell.runs.size());
    return std::tuple(!cell.claims_time, cell.typical_seconds, -reached,
                      cell.seconds_per_example ? cell.seconds_per_example->median : kInfinity);
  };
  std::stable_sort(cells.begin(), cells.end(),
                   [&](const auto& a, const auto& b) { return order(a) < order(b); });
}

void judge_first_places(std::vector<WorkloadJudgement>& workloads) {
  std::vector<Contest> contests;
  for (WorkloadJudgement& workload : workloads) {
    workload.rounds = rounds_of(workload);
    if (std::optional<Contest> contest = contest_of(workload)) contests.push_back(*contest);
  }
  const auto is_paired = [](const CellJudgement* cell) {
    return cell->against_first.ratio.has_value();
  };
  for (Contest& contest : contests) {
    pair_up(contest);
    const auto paired = std::ranges::count_if(contest.others, is_paired);
    const bool both_kinds =
        contest.stopping() == Stopping::Fixed && paired > 0 && paired < std::ssize(contest.others);
    contest.alpha = kAlpha / static_cast<double>(contests.size()) / (both_kinds ? 2 : 1);
    for (CellJudgement* other : contest.others) hold_against(contest, *other);
    contest.workload->certainty = certainty_of(contest);
    compare_with_single(contest);
  }
  for (WorkloadJudgement& workload : workloads) note_left_out(workload);
}

}  // namespace regatta::judge
