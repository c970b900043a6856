// SPDX-License-Identifier: Apache-2.0
//
// `regatta matrix --within 3min`: which run is next while there is time, and what that leaves out.
// The first run of every cell comes before all others, then seed after seed. A run that is expected
// to end late is not begun and a shorter one may take its place; only where a cell has no run yet,
// its first is begun as long as there is time, the shortest first, however late it may end. So a
// matrix ends late by one run at most.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/matrix/matrix_plan.h"

namespace regatta {

struct MissingRun {
  std::size_t cell = 0;
  std::optional<double> seconds;  ///< expected; one that is not known counts as none
};

/// The index of the run to begin now; nothing where none is left or fits. `missing`: seeds
/// outermost. `begun`: the cells that have a run. `seconds_left`: infinity without a budget.
std::optional<std::size_t> next_run(std::span<const MissingRun> missing,
                                    const std::set<std::size_t>& begun, double seconds_left);

/// What next_run() will choose if runs take as long as expected.
struct Forecast {
  std::vector<std::size_t> runs_of_cell;  ///< by cell, those that are there included
  double seconds = 0;                     ///< until the last run has ended

  std::size_t runs() const;  ///< of all cells
  std::vector<std::size_t> empty_cells() const;
};
/// `runs_of_cell`: those that are there.
Forecast forecast(std::span<const MissingRun> missing, std::vector<std::size_t> runs_of_cell,
                  double seconds_left);

/// Expected of one run of each cell that has none.
double seconds_of_first_runs(std::span<const MissingRun> missing, std::set<std::size_t> begun);

/// `5 seeds of 9 cells, 4 of 7, none of 2`
std::string seeds_text(std::span<const std::size_t> runs_of_cell);

/// The cells that have fewer than `wanted` runs, a line for each number of runs:
/// `  3 of 5 seeds: parabola single x1, parabola in_graph x2`.
std::vector<std::string> lines_of_fewer(const MatrixPlan& plan,
                                        std::span<const std::size_t> runs_of_cell,
                                        std::size_t wanted);

}  // namespace regatta
