// SPDX-License-Identifier: Apache-2.0
//
// Measures the judge's error rate and power: 200 made-up matrices a row with a known faster cell.
// results/verdicts.md has the tables that it prints.
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

/// Runs of eight cells with speeds that vary by `noise`; the first cell's times are multiplied.
Measurements made_up_runs(double factor, double noise, int seeds, std::mt19937_64& chance) {
  std::normal_distribution<double> normal;
  Measurements side;
  for (int cell = 0; cell < 8; ++cell) {
    for (int seed = 1; seed <= seeds; ++seed) {
      FinishedRun run;
      run.name = fmt::format("c{}", cell);
      run.cell.seed = static_cast<std::uint64_t>(seed);
      run.status = record::Status::Reached;
      run.examples_per_s = 1000 / (cell == 0 ? factor : 1) * std::exp(noise * normal(chance));
      run.examples_to_target = 1e5 + 1e3 * seed;
      side.runs.push_back(run);
    }
  }
  return side;
}

/// The shares of comparisons that find the first cell changed, and that find another changed.
std::pair<double, double> found_and_wrong(double factor, double noise, int seeds) {
  std::mt19937_64 chance(32);
  int found = 0, wrong = 0;
  for (int matrix = 0; matrix < kStudied; ++matrix) {
    const Measurements base = made_up_runs(1, noise, seeds, chance);
    const auto cells = compare(base, made_up_runs(factor, noise, seeds, chance), {});
    const auto regressed = [](const CellComparison& cell) {
      return cell.speed.verdict == Verdict::Regressed || cell.speed.verdict == Verdict::Improved;
    };
    found += regressed(cells.front());
    wrong += std::any_of(cells.begin() + 1, cells.end(), regressed);
  }
  return {static_cast<double>(found) / kStudied, static_cast<double>(wrong) / kStudied};
}

TEST(JudgeStudy, CallsSomeEqualCellSlowerOnOnePageOfTwentyAtMost) {
  fmt::print(
      "| cells | seeds | called slower | with two noisy cells |\n| --- | --- | --- | --- |\n");
  for (const int cells : {8, 15}) {
    for (const int seeds : {2, 5, 7, 10}) {
      const double alike = share_of_wrong(cells, seeds, 0);
      const double noisy = share_of_wrong(cells, seeds, 2);
      fmt::print("| {} | {} | {:.1f} % | {:.1f} % |\n", cells, seeds, 100 * alike, 100 * noisy);
      EXPECT_LE(alike, kMostWrong);
      EXPECT_LE(noisy, kMostWrongOfNoisy);
    }
  }
}

TEST(JudgeStudy, FindsASlowerCellAmongEight) {
  fmt::print("| seeds | 10 %, runs vary by 2 % | 10 %, by 5 % | tenfold, by 5 % |\n");
  fmt::print("| --- | --- | --- | --- |\n");
  for (const int seeds : {2, 5, 7, 10}) {
    const auto [quiet, quiet_wrong] = found_and_wrong(1.1, 0.02, seeds);
    const auto [loud, loud_wrong] = found_and_wrong(1.1, 0.05, seeds);
    const double tenfold = found_and_wrong(10, 0.05, seeds).first;
    fmt::print("| {} | {:.0f} % | {:.0f} % | {:.0f} % |\n", seeds, 100 * quiet, 100 * loud,
               100 * tenfold);
    EXPECT_LE(std::max(quiet_wrong, loud_wrong), kMostWrong);
    EXPECT_GE(tenfold, 0.99);
    EXPECT_GE(quiet, seeds < 5 ? 0.2 : 0.9);
  }
}

}  // namespace
}  // namespace regatta::judge
