// SPDX-License-Identifier: Apache-2.0
//
// Chooses the runs of a matrix with a time limit, `regatta matrix --within 3min`. Each cell gets
// its first run before any cell gets another; then the seeds follow one after another. A run that
// is expected to end after the limit is skipped in favour of a later one that fits. If cells have
// no run yet and none of their first runs fits, the shortest of these starts nevertheless, if any
// time is left. So a matrix exceeds its limit by one run at most.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/matrix/matrix_plan.h"

namespace regatta {

inline constexpr std::size_t kMostColumns = 100;  ///< longest line with names of cells

/// A run of the plan that is not in the folder yet.
struct MissingRun {
  std::size_t cell = 0;           ///< index into MatrixPlan::cells
  std::optional<double> seconds;  ///< expected time; empty: unknown, and counts as 0
};

/// Returns the index in `missing` of the next run; empty if no run is left or fits. `missing` is
/// ordered by seed, then by cell; `begun` are the cells that have a run; `seconds_left` is the time
/// to the limit, or infinity.
std::optional<std::size_t> next_run(std::span<const MissingRun> missing,
                                    const std::set<std::size_t>& begun, double seconds_left);

/// The runs of a matrix when it ends, if all runs take as long as expected.
struct Forecast {
  std::vector<std::size_t> runs_of_cell;  ///< number of runs of each cell, with finished ones
  double seconds = 0;                     ///< time until the last run has ended

  std::size_t runs() const;                      ///< total number of runs
  std::vector<std::size_t> empty_cells() const;  ///< cells without a run
};
/// Predicts the runs that next_run() will choose, one after another. `runs_of_cell[c]` is the
/// number of finished runs of cell c.
Forecast forecast(std::span<const MissingRun> missing, std::vector<std::size_t> runs_of_cell,
                  double seconds_left);

/// Returns the expected time of one run of each cell that is not in `begun`. Units: seconds.
double seconds_of_first_runs(std::span<const MissingRun> missing, std::set<std::size_t> begun);

/// Counts the cells by their number of runs: `5 seeds of 9 cells, 4 of 7, none of 2`.
std::string seeds_text(std::span<const std::size_t> runs_of_cell);

/// Lists at least one name, and as many as fit into `most` characters: `a, b and 30 more`.
std::string few_of(std::span<const std::string> names, std::size_t most);

/// Lists the cells with fewer than `wanted` runs, in one line per number of runs:
/// `  3 of 5 seeds: parabola single (1 worker), parabola in_graph (2 workers) and 30 more`.
std::vector<std::string> lines_of_fewer(const MatrixPlan& plan,
                                        std::span<const std::size_t> runs_of_cell,
                                        std::size_t wanted);

}  // namespace regatta
