// SPDX-License-Identifier: Apache-2.0
//
// `[[tune]]` of a matrix: before the race each cell that such a block is for runs with every
// combination of the block's values, on seeds that the race does not have, and then races with the
// best. The best reached the target most often, then in the least geometric mean of the training
// time; where none reached it, its last metric was the best. Cells that differ in --straggler only
// share their settings; runs of very few steps are measurements and have none.
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
  /// Of a plan of valid cells.
  explicit Tuning(const MatrixPlan& plan);

  /// Its cells have a combination each; without any there is nothing to tune.
  MatrixPlan trials() const;

  /// Adds the best settings to the plan's cells. `runs_of`: the runs of a cell of trials(), which
  /// are none if it cannot run. Returns by workload which were chosen, and by what:
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
