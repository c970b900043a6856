// SPDX-License-Identifier: Apache-2.0
//
// What a person sees while a matrix runs: on a terminal a table, a row a cell, that fills as runs
// finish, with the run that is under way below it; on a pipe a line for each run that has finished.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/finished_runs.h"
#include "harness/matrix_plan.h"

namespace regatta {

class MatrixTable {
 public:
  explicit MatrixTable(const MatrixPlan& plan);

  /// A run of the plan's cell `cell` is there, from before or just now.
  void add(std::size_t cell, const FinishedRun& run);
  /// A run of it left no record.
  void add_crash(std::size_t cell);

  void begin(std::size_t cell, std::uint64_t seed);
  /// What the run under way has said last, and what is left of the matrix.
  void progress(const std::string& line, const std::string& left);
  /// Draws what has been added.
  void show(const std::string& news);

 private:
  struct Row {
    std::vector<FinishedRun> runs;
    int crashes = 0;

    std::ptrdiff_t count(Status status) const;
    std::ptrdiff_t failed() const { return count(Status::Failed) + crashes; }
  };
  std::string row_text(std::size_t cell, std::size_t name_width) const;
  void redraw();

  const MatrixPlan& plan_;
  std::vector<Row> rows_;
  std::size_t name_width_ = 4;
  std::string under_way_;
  bool terminal_ = false;
  std::size_t drawn_ = 0;  ///< lines of the table on the terminal now
};

}  // namespace regatta
