// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/matrix_budget.h"

#include <gtest/gtest.h>

#include <limits>

namespace regatta::matrix {
namespace {

constexpr double kNoBudget = std::numeric_limits<double>::infinity();

/// Missing runs, seeds outermost. `seconds`: of a run of each cell.
std::vector<MissingRun> runs_of(const std::vector<double>& seconds, int seeds) {
  std::vector<MissingRun> runs;
  for (int seed = 0; seed < seeds; ++seed) {
    for (std::size_t cell = 0; cell < seconds.size(); ++cell) {
      runs.push_back({.cell = cell, .seconds = seconds[cell]});
    }
  }
  return runs;
}

TEST(MatrixBudget, WithoutOneRunsGoInTheirOrder) {
  const std::vector<MissingRun> runs = runs_of({1, 2}, 2);
  EXPECT_EQ(next_run(runs, {}, kNoBudget), 0U);
  EXPECT_EQ(next_run(std::span(runs).subspan(1), {0}, kNoBudget), 0U);
  EXPECT_EQ(next_run(std::span(runs).subspan(2), {0, 1}, kNoBudget), 0U);
  EXPECT_EQ(next_run({}, {0, 1}, kNoBudget), std::nullopt);
}

TEST(MatrixBudget, BeginsNoRunThatWouldEndLateAndAShorterOneInItsPlace) {
  const std::vector<MissingRun> runs = runs_of({5, 1}, 1);
  EXPECT_EQ(next_run(runs, {0, 1}, 5), 0U);
  EXPECT_EQ(next_run(runs, {0, 1}, 4.9), 1U);
  EXPECT_EQ(next_run(runs, {0, 1}, 0.9), std::nullopt);
}

TEST(MatrixBudget, GivesEveryCellItsFirstRunBeforeOthersTheirSecond) {
  const std::vector<MissingRun> runs = runs_of({1, 1, 5}, 2);
  EXPECT_EQ(next_run(runs, {0}, 100), 1U);
  EXPECT_EQ(next_run(runs, {0, 1}, 100), 2U);
  EXPECT_EQ(next_run(runs, {0, 1}, 3), 2U);  // it ends late, but its cell has no run
}

TEST(MatrixBudget, BeginsNothingWithoutTime) {
  const std::vector<MissingRun> runs = {{.cell = 0}};
  EXPECT_EQ(next_run(runs, {}, 0.1), 0U);
  EXPECT_EQ(next_run(runs, {}, 0), std::nullopt);
  EXPECT_EQ(next_run(runs, {}, -1), std::nullopt);
}

TEST(MatrixBudget, TakesARunWhoseTimeIsNotKnownForShort) {
  const std::vector<MissingRun> runs = {{.cell = 0, .seconds = 5}, {.cell = 1}};
  EXPECT_EQ(next_run(runs, {0, 1}, 1), 1U);
}

TEST(MatrixBudget, NamesAFewOfManyCells) {
  const std::vector<std::string> names(32, "parabola all_reduce (2 workers)");
  EXPECT_EQ(few_of(names, kMostColumns), names[0] + ", " + names[0] + " and 30 more");
  EXPECT_EQ(few_of(std::span(names).first(3), kMostColumns),
            names[0] + ", " + names[0] + ", " + names[0]);
  EXPECT_EQ(few_of(std::span(names).first(2), 5), names[0] + " and 1 more");
}

}  // namespace
}  // namespace regatta::matrix
