// SPDX-License-Identifier: Apache-2.0
//
// The output while a race runs. On a terminal: a few lines that are rewritten from the first moment
// on, and at the end the outcome and the next command. On a pipe: a line after each evaluation, at
// most one for each tenth of the run, and one at the end. NO_COLOR is honoured.
// Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "harness/race.h"
#include "harness/run/ticker.h"

namespace regatta {

/// Formats as `resnet9_thin all_reduce, 2 workers, seed 1`.
std::string name_of_run(const RaceRequest& request);

/// The state of a run as the pieces of its lines. `elapsed_s`: seconds since it was started.
/// Without progress the run is being prepared.
std::vector<std::string> live_pieces(const std::optional<RaceProgress>& progress, double elapsed_s);

class LiveLine {
 public:
  explicit LiveLine(const RaceRequest& request);
  /// Erases the lines that would have been rewritten.
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void show(const RaceProgress& progress);
  /// Prints a line that stays. If it is empty, only clears the drawing, so that others can print.
  void tell(const std::string& line);
  /// Prints the outcome (reached, missed or failed), the record's file and the next command.
  void conclude(const Record& record, const std::string& folder);

 private:
  void clear();
  void draw();

  using Clock = std::chrono::steady_clock;

  std::string name_;
  bool terminal_ = false;
  bool color_ = false;
  Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;  ///< guards the members below
  std::optional<RaceProgress> progress_;
  std::size_t drawn_ = 0;  ///< lines on the terminal now
  Clock::time_point drawn_at_;
  std::int64_t last_tenth_ = -1;  ///< last tenth of the run that was printed on a pipe
  std::optional<Ticker> ticker_;  ///< only on a terminal; last, because its thread uses the rest
};

}  // namespace regatta
