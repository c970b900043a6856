// SPDX-License-Identifier: Apache-2.0
//
// Tunes the cells to which a block [[tune]] of the matrix applies. Before the race, each such cell
// runs with every combination of the block's values, on seeds that the race does not use. The race
// uses the best combination: the one that reached the target most often and, among equals, has the
// smallest geometric mean of the training time to the target; if none reached it, the one with the
// best last metric. Cells that differ only in --straggler share their settings. Cells with very few
// steps are measurements and are not tuned.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/finished_runs.h"
#include "harness/matrix/matrix_plan.h"

namespace regatta::matrix {

class Tuning {
 public:
  /// Prepares the trials for a plan, which must have no invalid cells (reject_invalid).
  explicit Tuning(const MatrixPlan& plan);

  /// Returns the matrix of tuning, with one cell per combination of values. It has no cells if no
  /// block applies.
  MatrixPlan trials() const;

  /// Adds the best settings to the plan's cells. `runs_of` returns the runs of a cell of trials(),
  /// or none if it cannot run. Returns for each workload the choices and their basis:
  /// `settings chosen by 24 runs on seeds 1001, 1002 (3 min): rate-scale=2 for diloco (2 workers)`.
  std::map<std::string, std::string> choose(
      MatrixPlan& plan,
      const std::function<std::vector<judge::FinishedRun>(const MatrixCell&)>& runs_of) const;

 private:
  struct Group {
    MatrixCell base;  ///< the cells' common flags, without the straggler
    std::vector<FlagValues> settings;
    std::vector<std::size_t> cells;  ///< indices of the cells in the plan
  };
  std::vector<Group> groups_;
  std::vector<std::uint64_t> seeds_;
};

}  // namespace regatta::matrix
