// SPDX-License-Identifier: Apache-2.0
//
// `regatta matrix --within 3min`: chooses the next run within a time limit. The first runs of all
// cells come before other runs, then seed after seed. A run that is expected to end late is skipped
// in favour of a shorter one, except that while there is time, a cell without a run gets its first,
// the shortest first, even if it ends late. A matrix overruns its limit by one run at most.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/matrix/matrix_plan.h"

namespace regatta {

inline constexpr std::size_t kMostColumns = 100;  ///< of a line with cell names

struct MissingRun {
  std::size_t cell = 0;
  std::optional<double> seconds;  ///< expected; unknown counts as 0
};

/// The index of the next run; empty if none is left or fits. `missing`: seeds outermost. `begun`:
/// the cells that have a run. `seconds_left`: infinity without a limit.
std::optional<std::size_t> next_run(std::span<const MissingRun> missing,
                                    const std::set<std::size_t>& begun, double seconds_left);

/// The choices of next_run() if runs take as long as expected.
struct Forecast {
  std::vector<std::size_t> runs_of_cell;  ///< by cell, finished runs included
  double seconds = 0;                     ///< until the last run has ended

  std::size_t runs() const;  ///< of all cells together
  std::vector<std::size_t> empty_cells() const;
};
/// Predicts the choices of next_run(). `runs_of_cell`: the finished runs.
Forecast forecast(std::span<const MissingRun> missing, std::vector<std::size_t> runs_of_cell,
                  double seconds_left);

/// The expected seconds of one run of each cell that has none.
double seconds_of_first_runs(std::span<const MissingRun> missing, std::set<std::size_t> begun);

/// Formats counts of seeds: `5 seeds of 9 cells, 4 of 7, none of 2`.
std::string seeds_text(std::span<const std::size_t> runs_of_cell);

/// Lists the names that fit into `most` characters, at least one: `a, b and 30 more`.
std::string few_of(std::span<const std::string> names, std::size_t most);

/// Lists the cells with fewer than `wanted` runs, one line for each number of runs:
/// `  3 of 5 seeds: parabola single (1 worker), parabola in_graph (2 workers) and 30 more`.
std::vector<std::string> lines_of_fewer(const MatrixPlan& plan,
                                        std::span<const std::size_t> runs_of_cell,
                                        std::size_t wanted);

}  // namespace regatta
