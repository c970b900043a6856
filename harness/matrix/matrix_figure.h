// SPDX-License-Identifier: Apache-2.0
//
// Updates the figure OUT/race.svg while a matrix runs (`--draw`). plots/race.py draws it between
// two runs, never during a run, and takes at most a twentieth of the time.
#pragma once

#include <chrono>
#include <string>

namespace regatta::matrix {

/// Whether to draw again. `since_last` is the time since the last drawing, or since the start;
/// `cost` is the time that the last drawing took. Units: seconds.
bool drawing_is_due(double since_last, double cost);

class GrowingFigure {
 public:
  /// Throws: RunError(Unsupported) if plots/race.py is missing.
  explicit GrowingFigure(std::string folder);

  bool is_due() const;
  /// Draws the figure. Returns an empty string, or the reason if drawing failed; is_due() is then
  /// false from now on.
  std::string draw();
  /// Returns the time that the last drawing took; 0 before the first. Units: seconds.
  double cost() const { return cost_; }
  std::string file() const { return folder_ + "/race.svg"; }

 private:
  using Clock = std::chrono::steady_clock;

  std::string folder_;
  std::string script_;
  Clock::time_point last_ = Clock::now();
  double cost_ = 0;
  bool broken_ = false;
};

}  // namespace regatta::matrix
