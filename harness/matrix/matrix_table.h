// SPDX-License-Identifier: Apache-2.0
//
// Shows the progress of a matrix. On a terminal it is a table that is updated as runs finish: a row
// per cell with its median time to the target, and the current run below the table. If
// stdout is not a terminal, it is one line per finished run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/judge/finished_runs.h"
#include "harness/matrix/matrix_plan.h"

namespace regatta::matrix {

class MatrixTable {
 public:
  explicit MatrixTable(const MatrixPlan& plan);

  /// Adds a finished run. `cell` is its index in MatrixPlan::cells.
  void add(std::size_t cell, const judge::FinishedRun& run);
  /// Adds a run of the cell that crashed without a record.
  void add_crash(std::size_t cell);

  void begin(std::size_t cell, std::uint64_t seed);
  /// Shows `line`, the last output of the current run, and `left`, the time left for the matrix.
  void progress(const std::string& line, const std::string& left);
  /// Shows all runs that were added, and `news`, a line about the run that just ended.
  void show(const std::string& news);

 private:
  struct Row {
    std::string label;  ///< the cell's name without the group's title
    std::vector<judge::FinishedRun> runs;
    int crashes = 0;

    std::ptrdiff_t count(record::Status status) const;
    std::ptrdiff_t failed() const { return count(record::Status::Failed) + crashes; }
    double seconds_to_target() const;  ///< the median; infinity: missed its target, or no run yet
  };
  /// The cells of a workload, which are compared with each other.
  struct Group {
    std::string title;  ///< the workload, and the settings that all of its cells share
    std::vector<std::size_t> cells;
  };
  using Columns = std::vector<std::string>;  ///< the texts of a row
  /// Units: columns of the terminal.
  struct Widths {
    std::size_t line = 0;
    std::vector<std::size_t> columns;
  };

  Group group_of(const std::string& workload, const std::vector<std::size_t>& cells);
  Columns columns_of(const Row& row) const;
  Widths widths_for(std::size_t terminal_columns) const;
  std::vector<std::string> lines_of(const Group& group, const Widths& widths) const;
  void redraw();

  const MatrixPlan& plan_;
  std::vector<Row> rows_;
  std::vector<Group> groups_;
  std::string under_way_;
  bool terminal_ = false;
  std::size_t drawn_ = 0;  ///< lines of the table on the terminal now
};

}  // namespace regatta::matrix
