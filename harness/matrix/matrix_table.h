// SPDX-License-Identifier: Apache-2.0
//
// What a person sees while a matrix runs: on a terminal a table, a row a cell and its median time
// to the target as a bar, that fills as runs finish, with the run that is under way below it; on a
// pipe a line for each run that has finished. NO_COLOR is honoured.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/judge/finished_runs.h"
#include "harness/matrix/bar.h"
#include "harness/matrix/matrix_plan.h"

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
    std::string label;  ///< its cell, less what the group's title says
    std::vector<FinishedRun> runs;
    int crashes = 0;

    std::ptrdiff_t count(Status status) const;
    std::ptrdiff_t failed() const { return count(Status::Failed) + crashes; }
    double seconds_to_target() const;  ///< the median; infinity: missed or no run yet
  };
  /// The cells of a workload, which are compared with each other.
  struct Group {
    std::string title;  ///< the workload, and what all of its cells are asked for
    std::vector<std::size_t> cells;
  };
  using Columns = std::vector<std::string>;  ///< of a row, without the bar
  /// Units: columns of the terminal.
  struct Widths {
    std::size_t line = 0;
    std::vector<std::size_t> columns;
    std::size_t bar = 0;  ///< 0: there is no room for one
  };

  Group group_of(const std::string& workload, const std::vector<std::size_t>& cells);
  Columns columns_of(const Row& row) const;
  Widths widths_for(std::size_t terminal_columns) const;
  std::vector<std::string> lines_of(const Group& group, const Widths& widths) const;
  std::string bar_of(double seconds, double fastest, double slowest, std::size_t width) const;
  void redraw();

  const MatrixPlan& plan_;
  std::vector<Row> rows_;
  std::vector<Group> groups_;
  std::string under_way_;
  bool terminal_ = false;
  bool color_ = false;
  Glyphs glyphs_ = Glyphs::Ascii;
  std::size_t drawn_ = 0;  ///< lines of the table on the terminal now
};

}  // namespace regatta
