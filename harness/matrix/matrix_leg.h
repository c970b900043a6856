// SPDX-License-Identifier: Apache-2.0
//
// Runs one leg of a matrix (its tuning or its race): chooses the next run, starts it and shows the
// progress. If the leg ends early, it prints the command that continues it.
#pragma once

#include <chrono>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/judge/finished_runs.h"
#include "harness/matrix/decision.h"
#include "harness/matrix/kept_runs.h"
#include "harness/matrix/matrix.h"
#include "harness/matrix/matrix_figure.h"
#include "harness/matrix/matrix_plan.h"
#include "harness/matrix/matrix_table.h"
#include "harness/system/child.h"
#include "harness/system/folder_lock.h"

namespace regatta::matrix {

inline constexpr int kSignalled = 128;  ///< plus the signal's number: exit code if interrupted

/// One of the two parts of a matrix: its tuning or its race.
struct Leg {
  enum class Purpose { Tune, Race } purpose = Purpose::Race;
  std::string folder;
  MatrixPlan plan;
  std::vector<RejectedCell> rejected;
  std::chrono::steady_clock::time_point begin;    ///< of both legs together
  std::map<std::string, std::string> tuned;       ///< tuned settings by workload, for the notes
  std::optional<std::size_t> planned_seeds = {};  ///< before add_seeds(), if the race decides
};

/// Races the cells of a leg.
class MatrixLeg {
 public:
  MatrixLeg(const MatrixRequest& request, Leg leg);
  /// Prints the cells, the cells that cannot run, and the time that is left.
  void describe();
  int run(const system::FolderLock& lock);
  bool is_complete() const { return missing_.empty(); }
  const KeptRuns& kept() const { return kept_; }

 private:
  bool races() const { return leg_.purpose == Leg::Purpose::Race; }
  std::size_t planned() const { return plan_.cells.size() * plan_.seeds.size(); }
  std::size_t there() const {
    return std::accumulate(runs_of_cell_.begin(), runs_of_cell_.end(), std::size_t{0});
  }
  double seconds_gone() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - leg_.begin).count();
  }
  /// Time left for runs, less the time that a drawing takes.
  double seconds_left() const {
    return within_s_ - seconds_gone() - (figure_ ? figure_->cost() : 0);
  }
  void add(std::size_t cell, const judge::FinishedRun& run);
  /// The time that this cell and those that have begun need for kRunsToDecide runs each. If less is
  /// left, the cell does not begin: a few decided cells are worth more than many undecided ones.
  double seconds_with(std::size_t cell) const;
  /// Chooses an index in `missing_`; empty if no run is left, fits or is needed. Each cell gets its
  /// first run before any gets another, then seed follows seed. With --decide, each cell gets
  /// kRunsToDecide runs; then the workload that has had the least time is next. A run is skipped if
  /// it would exceed the time limit; the first run of a cell, whose time is unknown, is not.
  std::optional<std::size_t> next() const;
  bool is_needed(const PlannedRun& run) const {
    constexpr int kCrashes = 2;  // two crashes are hardly chance
    return !decision_ || (crashes_[run.cell] < kCrashes &&
                          decision_->needs_more(plan_.cells[run.cell], runs_of_cell_[run.cell]));
  }
  /// Returns the expected time of a run of the cell in seconds; empty before its first run.
  std::optional<double> expected(std::size_t cell) const;
  std::string kept_text() const;
  std::string left_text() const;
  void run_one(const PlannedRun& planned);
  void require_folder() const;
  [[noreturn]] void stop_for(const std::string& reason) const;
  [[noreturn]] void stop_without_the_folder();
  void draw();
  int interrupted(int signal) const;
  void say_what_was_left_out() const;
  /// Writes notes for reports about the missing runs.
  void leave_notes() const;

  system::Interrupts interrupts_;
  MatrixRequest request_;
  double within_s_;  ///< infinity: no budget
  Leg leg_;
  const MatrixPlan& plan_ = leg_.plan;
  MatrixTable table_;
  std::optional<GrowingFigure> figure_;
  std::string figure_failure_;
  KeptRuns kept_;
  std::optional<Decision> decision_;                  ///< empty: all planned runs are raced
  std::vector<PlannedRun> missing_;                   ///< seeds outermost
  std::vector<std::size_t> runs_of_cell_;             ///< finished runs
  std::vector<std::vector<double>> seconds_of_cell_;  ///< times of runs that did not fail
  std::vector<int> crashes_;                          ///< runs without a record, by cell
  std::set<std::size_t> begun_;                       ///< cells with at least one attempt
  std::size_t tried_ = 0;                             ///< attempted runs of this matrix
  bool has_lost_machines_ = false;
  int failed_ = 0;
};

}  // namespace regatta::matrix
