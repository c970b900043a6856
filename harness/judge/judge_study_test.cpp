// SPDX-License-Identifier: Apache-2.0
//
// Measures the judge's error rate and power: 200 made-up matrices a row with a known faster cell.
// results/verdicts.md has the tables, with more rows, that it printed at commit bb04895c.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/compare.h"
#include "harness/judge/first_place_test.h"
#include "harness/judge/judgement.h"

namespace regatta::judge {
namespace {

constexpr int kStudied = 200;
constexpr double kMostWrong = 0.05 + 2 * 0.0155;  // two deviations for so many matrices
constexpr double kMostWrongOfNoisy = 0.08;        // two cells five times as noisy

/// The share of pages of equal cells that call one slower. The first `noisy` cells have five times
/// the noise of the others.
double share_of_wrong(int cells, int seeds, int noisy) {
  std::mt19937_64 chance(31);
  int wrong = 0;
  for (int matrix = 0; matrix < kStudied; ++matrix) {
    std::vector<MadeUpCell> all;
    for (int cell = 0; cell < cells; ++cell) {
      all.push_back(
          {.strategy = fmt::format("s{}", cell), .each_noise = cell < noisy ? 0.25 : 0.05});
    }
    const Judgement judgement = judge(made_up_races(all, {.seeds = seeds, .step = 0.25}, chance));
    wrong += std::ranges::any_of(judgement.workloads.at(0).cells, [](const CellJudgement& cell) {
      return cell.against_first.standing == Standing::Slower;
    });
  }
  return static_cast<double>(wrong) / kStudied;
}

constexpr int kGateCells = 8;
constexpr std::size_t kMostSeeds = 16;
const std::vector<std::size_t> kGateLooks = {3, 5, 7, 11, kMostSeeds};  // ci/regression

/// Runs of eight cells with speeds that vary by `noise`; the first cell's times are multiplied.
Measurements made_up_runs(double factor, double noise, std::size_t seeds, std::mt19937_64& chance) {
  std::normal_distribution<double> normal;
  Measurements side;
  for (int cell = 0; cell < kGateCells; ++cell) {
    for (std::size_t seed = 1; seed <= seeds; ++seed) {
      FinishedRun run;
      run.name = fmt::format("c{}", cell);
      run.cell.seed = seed;
      run.status = record::Status::Reached;
      run.median_step_s = (cell == 0 ? factor : 1) * std::exp(noise * normal(chance));
      run.examples_per_s = 1000 / *run.median_step_s;
      run.examples_to_target = 1e5 + 1e3 * static_cast<double>(seed);
      side.runs.push_back(run);
    }
  }
  return side;
}

/// Results of comparisons in which the first of eight cells changed.
struct Outcome {
  double found = 0;      ///< share of the comparisons that find the first cell changed
  double wrong = 0;      ///< share that find another changed
  double unchanged = 0;  ///< share of the equal cells that are unchanged
  double runs = 0;       ///< mean number of runs of all cells and both sides
};

Outcome outcome_of(double factor, double noise, std::size_t seeds,
                   const std::vector<std::size_t>& looks, int comparisons = kStudied) {
  std::mt19937_64 chance(32);
  Outcome mean;
  for (int i = 0; i < comparisons; ++i) {
    const Measurements base = made_up_runs(1, noise, seeds, chance);
    const auto cells = compare(base, made_up_runs(factor, noise, seeds, chance),
                               {.taken = Taken::InTurn, .looks = looks});
    const auto changed = [](const CellComparison& cell) {
      return cell.speed.verdict == Verdict::Regressed || cell.speed.verdict == Verdict::Improved;
    };
    mean.found += 1.0 * changed(cells.front()) / comparisons;
    mean.wrong += 1.0 * std::any_of(cells.begin() + 1, cells.end(), changed) / comparisons;
    for (std::size_t k = 0; k < cells.size(); ++k) {
      const Comparison& speed = cells[k].speed;
      mean.runs += 2.0 * (speed.seeds > 0 ? speed.seeds : seeds) / comparisons;
      if (k == 0 || speed.verdict != Verdict::Unchanged) continue;
      mean.unchanged += 1.0 / (kGateCells - 1) / comparisons;
    }
  }
  return mean;
}

TEST(JudgeStudy, CallsSomeEqualCellSlowerOnOnePageOfTwentyAtMost) {
  fmt::print(
      "| cells | seeds | called slower | with two noisy cells |\n| --- | --- | --- | --- |\n");
  for (const int cells : {8, 15}) {
    for (const int seeds : {2, 10}) {
      const double alike = share_of_wrong(cells, seeds, 0);
      const double noisy = share_of_wrong(cells, seeds, 2);
      fmt::print("| {} | {} | {:.1f} % | {:.1f} % |\n", cells, seeds, 100 * alike, 100 * noisy);
      EXPECT_LE(alike, kMostWrong);
      EXPECT_LE(noisy, kMostWrongOfNoisy);
    }
  }
}

TEST(JudgeStudy, FindsASlowerCellAmongEightAndWithLooksByFewerRuns) {
  fmt::print(
      "| seeds | runs vary by | found | another called changed | equal ones unchanged | runs |"
      "\n| --- | --- | --- | --- | --- | --- |\n");
  const auto row = [](std::size_t seeds, double noise, const std::vector<std::size_t>& looks) {
    const Outcome is = outcome_of(1.1, noise, seeds, looks);
    fmt::print("| {}{} | {:.1f} % | {:.0f} % | {:.1f} % | {:.0f} % | {:.0f} |\n",
               looks.empty() ? "" : "at most ", seeds, 100 * noise, 100 * is.found, 100 * is.wrong,
               100 * is.unchanged, is.runs);
    EXPECT_LE(is.wrong, kMostWrong);
    return is;
  };
  for (const double noise : {0.01, 0.05}) {
    for (const std::size_t seeds : {2, 10}) {
      const Outcome once = row(seeds, noise, {});
      EXPECT_GE(once.found, noise > 0.02 ? 0 : seeds < 5 ? 0.1 : 0.9);
    }
    const Outcome most = row(kMostSeeds, noise, {}), looked = row(kMostSeeds, noise, kGateLooks);
    EXPECT_GE(looked.found, most.found - 0.15);  // the price of five looks, with the chance of 200
    EXPECT_LE(looked.runs, most.runs * (noise <= 0.01 ? 0.5 : 1));
  }
  for (const std::size_t seeds : {2, 5}) EXPECT_GE(outcome_of(10, 0.05, seeds, {}).found, 0.99);
}

TEST(JudgeStudy, RaisesAnAlarmOfEqualCellsInOneOfTwentyComparisonsAtMostWhereverItLooks) {
  std::vector<std::size_t> each;
  for (std::size_t seeds = 3; seeds <= kMostSeeds; ++seeds) each.push_back(seeds);
  constexpr int kComparisons = 500;
  for (const auto& looks : {each, kGateLooks}) {
    const Outcome equal = outcome_of(1, 0.05, kMostSeeds, looks, kComparisons);
    const double alarms = equal.found + equal.wrong;
    fmt::print("{} looks: an alarm at any in {:.1f} % of {} comparisons\n", looks.size(),
               100 * alarms, kComparisons);
    EXPECT_LE(alarms, 0.05);
  }
}

}  // namespace
}  // namespace regatta::judge
