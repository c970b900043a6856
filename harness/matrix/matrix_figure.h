// SPDX-License-Identifier: Apache-2.0
//
// Updates the figure of a matrix' folder during the matrix: plots/race.py draws OUT/race.svg
// between two runs, never during one, and takes at most a twentieth of the time.
#pragma once

#include <chrono>
#include <string>

namespace regatta {

/// Whether to draw again. `since_last`: seconds since the last drawing, or since the beginning;
/// `cost`: the seconds that it took.
bool drawing_is_due(double since_last, double cost);

class GrowingFigure {
 public:
  /// Throws: RunError(Unsupported) if plots/race.py is missing.
  explicit GrowingFigure(std::string folder);

  bool is_due() const;
  /// Draws the figure. Returns an empty string, or the reason of a failure, after which no drawing
  /// is due again.
  std::string draw();
  /// The seconds that the last drawing took; 0 before the first one.
  double cost() const { return cost_; }
  /// The path of the figure: `out/race.svg`.
  std::string file() const { return folder_ + "/race.svg"; }

 private:
  using Clock = std::chrono::steady_clock;

  std::string folder_;
  std::string script_;
  Clock::time_point last_ = Clock::now();
  double cost_ = 0;
  bool broken_ = false;
};

}  // namespace regatta
