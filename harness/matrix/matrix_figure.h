// SPDX-License-Identifier: Apache-2.0
//
// The figure of a matrix' folder while it grows: plots/race.py draws OUT/race.svg anew between two
// runs, never beside one that is measured, and takes at most a twentieth of the time.
#pragma once

#include <chrono>
#include <string>

namespace regatta {

/// Whether a drawing may take place. `since_last`: seconds since the last one, or the beginning;
/// `cost`: that it took.
bool drawing_is_due(double since_last, double cost);

class GrowingFigure {
 public:
  /// Throws: RunError(Unsupported) where there is no plots/race.py.
  explicit GrowingFigure(std::string folder);

  bool is_due() const;
  /// Returns why it could not, and is due no more then; empty: the figure is there.
  std::string draw();
  /// Seconds that the last drawing took; 0 before there was one.
  double cost() const { return cost_; }
  /// `out/race.svg`
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
