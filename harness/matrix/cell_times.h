// SPDX-License-Identifier: Apache-2.0
//
// The expected times of a matrix' runs: the lengths of its cells with all runs as evidence.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/finished_runs.h"
#include "harness/matrix/expected_time.h"
#include "harness/matrix/matrix_plan.h"
#include "harness/system/child.h"

namespace regatta {

class CellTimes {
 public:
  /// `here`: the runs in the matrix' folder. The plan has no cell that cannot run.
  CellTimes(const MatrixPlan& plan, std::vector<FinishedRun> here);

  const RunLength& length(std::size_t cell) const { return lengths_[cell]; }
  const std::vector<FinishedRun>& here() const { return here_; }
  void set_here(std::vector<FinishedRun> runs) { here_ = std::move(runs); }

  /// The expected time of a run of the cell; empty if no run is evidence for it.
  std::optional<ExpectedTime> expected(std::size_t cell) const;
  /// Races each workload without evidence briefly, until the deadline or until `stops`.
  void time_unknown(std::span<const std::size_t> cells, Deadline deadline,
                    const std::function<bool()>& stops);
  /// Describes runs that are left, by cell: `8 runs left, about 3 s (8 by a short run of single)`.
  std::string text(std::span<const std::size_t> cells) const;

 private:
  std::vector<RunLength> lengths_;  ///< by cell
  std::vector<FinishedRun> here_;
  std::vector<FinishedRun> committed_;
  std::vector<FinishedRun> timed_;
};

}  // namespace regatta
