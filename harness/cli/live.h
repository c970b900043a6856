// SPDX-License-Identifier: Apache-2.0
//
// The output while a race runs. On a terminal: a few lines of progress that are redrawn until the
// end, and then the outcome and a suggested next command. On a pipe: lines after evaluations, at
// most one for each tenth of the run, and a line at the end. No colours if NO_COLOR is set.
// Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "harness/race/race.h"
#include "harness/run/ticker.h"

namespace regatta::cli {

/// Formats the run's name as `resnet9_thin all_reduce, 2 workers, seed 1`.
std::string name_of_run(const plan::RaceRequest& request);

/// The progress of a run as short texts, such as `step 10 of 80`, to be joined into lines.
/// `elapsed_s` is the number of seconds since the run was started. `progress` is empty while the
/// run is being prepared.
std::vector<std::string> live_pieces(const std::optional<race::RaceProgress>& progress,
                                     double elapsed_s);

class LiveLine {
 public:
  explicit LiveLine(const plan::RaceRequest& request);
  /// Erases the lines of progress.
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void show(const race::RaceProgress& progress);
  /// Prints a line that stays. If `line` is empty, only erases the lines of progress, so that other
  /// code can print.
  void tell(const std::string& line);
  /// Prints the outcome (reached, missed or failed), the record's file and the next command.
  void conclude(const record::Record& record, const std::string& folder);

 private:
  void clear();
  void draw();

  using Clock = std::chrono::steady_clock;

  std::string name_;
  bool terminal_ = false;
  bool color_ = false;
  Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;  ///< guards the members below
  std::optional<race::RaceProgress> progress_;
  std::size_t drawn_ = 0;  ///< number of lines of progress now on the terminal
  Clock::time_point drawn_at_;
  std::int64_t last_tenth_ = -1;  ///< last tenth of the run with a line on the pipe; -1: none
  std::optional<run::Ticker>
      ticker_;  ///< only on a terminal; last, because its thread uses the rest
};

}  // namespace regatta::cli
