// SPDX-License-Identifier: Apache-2.0
//
// `[[tune]]` of a matrix: before the race, each cell to which such a block applies runs with every
// combination of the block's values, on seeds that the race does not have, and then races with the
// best. That is the one that reached the target most often, then the one with the least geometric
// mean of training time; if none reached it, the one with the best last metric. Cells that differ
// only in --straggler share their settings; runs of very few steps are measurements and have none.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/finished_runs.h"
#include "harness/matrix/matrix_plan.h"

namespace regatta {

class Tuning {
 public:
  /// Prepares trials for a plan of valid cells.
  explicit Tuning(const MatrixPlan& plan);

  /// One cell for each combination of settings; without cells there is no tuning.
  MatrixPlan trials() const;

  /// Adds the best settings to the plan's cells. `runs_of`: the runs of a cell of trials(); none if
  /// it cannot run. Returns by workload the choices and their basis:
  /// `settings chosen by 24 runs on seeds 1001, 1002 (3 min): rate-scale=2 for diloco (2 workers)`.
  std::map<std::string, std::string> choose(
      MatrixPlan& plan,
      const std::function<std::vector<FinishedRun>(const MatrixCell&)>& runs_of) const;

 private:
  struct Group {
    MatrixCell base;  ///< without straggler
    std::vector<FlagValues> settings;
    std::vector<std::size_t> cells;  ///< of the plan
  };
  std::vector<Group> groups_;
  std::vector<std::uint64_t> seeds_;
};

}  // namespace regatta
