// SPDX-License-Identifier: Apache-2.0
//
// Finds the runs of a plan in the folder of a matrix. A record's cell and seed identify the run, so
// the folder may also hold records of other commands.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "harness/judge/finished_runs.h"
#include "harness/matrix/matrix_plan.h"
#include "harness/record/record_reader.h"

namespace regatta::matrix {

struct PlannedRun {
  std::size_t cell = 0;  ///< index into MatrixPlan::cells
  std::uint64_t seed = 0;
};

class KeptRuns {
 public:
  /// `plan` must outlive this object. Throws: RunError(Data), like records_in().
  KeptRuns(const MatrixPlan& plan, std::filesystem::path folder);

  /// Finds the last run of the cell with this seed; null if there is none.
  const judge::FinishedRun* record_of(const PlannedRun& run) const;
  /// Finds the run; null if there is none, or if it is to run again.
  const judge::FinishedRun* done(const PlannedRun& run) const;
  /// The finished runs of all seeds; none of a cell that the plan does not have.
  std::vector<judge::FinishedRun> runs_of(const MatrixCell& cell) const;

  /// Reads the records that were appended since the last call, and returns them.
  std::vector<record::Record> read_new();
  /// Reads the whole folder again.
  void read_again();

 private:
  const MatrixPlan& plan_;
  std::filesystem::path folder_;
  record::NewRecords new_records_;
  std::vector<judge::FinishedRun> runs_;
};

}  // namespace regatta::matrix
