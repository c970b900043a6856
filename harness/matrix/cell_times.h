// SPDX-License-Identifier: Apache-2.0
//
// Estimates the times of a matrix's runs from the lengths of its cells and all known runs.
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
  /// `here` are the finished runs in the matrix's folder. The plan must have no invalid cells
  /// (reject_invalid).
  CellTimes(const MatrixPlan& plan, std::vector<FinishedRun> here);

  const RunLength& length(std::size_t cell) const { return lengths_[cell]; }
  const std::vector<FinishedRun>& here() const { return here_; }
  void set_here(std::vector<FinishedRun> runs) { here_ = std::move(runs); }

  /// Returns the expected time of a run of the cell; empty if no known run applies.
  std::optional<ExpectedTime> expected(std::size_t cell) const;
  /// Makes a short_run() for each workload, dtype and device among `cells` for which no known run
  /// applies, until the deadline passes or `stops` returns true.
  void time_unknown(std::span<const std::size_t> cells, Deadline deadline,
                    const std::function<bool()>& stops);
  /// Describes the runs that are left: `8 runs left, about 3 s (8 by a short run of single)`.
  /// `cells[i]` is the cell of the i-th of them.
  std::string text(std::span<const std::size_t> cells) const;

 private:
  std::vector<RunLength> lengths_;  ///< of each cell of the plan
  std::vector<FinishedRun> here_;
  std::vector<FinishedRun> committed_;
  std::vector<FinishedRun> timed_;
};

}  // namespace regatta
