// SPDX-License-Identifier: Apache-2.0
//
// The training clock of a race: it runs during training and stops for evaluations and checkpoints.
// All reported speeds are measured with it.
// Threads: start() and stop() are called from one thread, elapsed_ns() from any.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "kernels/runtime/measure/clock.h"

namespace regatta::run {

class TrainingClock {
 public:
  /// Sets the training time up to the checkpoint from which the run resumes. Units: ns.
  void begin_at(std::int64_t elapsed_ns) {
    const std::lock_guard lock(mutex_);
    stopped_ns_ = elapsed_ns;
  }

  void start() {
    const std::lock_guard lock(mutex_);
    started_at_ns_ = now_ns();
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    if (started_at_ns_) stopped_ns_ += now_ns() - *started_at_ns_;
    started_at_ns_.reset();
  }

  /// Returns the training time of the run so far. Units: ns.
  std::int64_t elapsed_ns() const {
    const std::lock_guard lock(mutex_);
    return stopped_ns_ + (started_at_ns_ ? now_ns() - *started_at_ns_ : 0);
  }

  /// Returns the mean speed over the training time; `examples` were trained on. 0 before any
  /// training.
  double examples_per_s(std::int64_t examples) const {
    const std::int64_t elapsed = elapsed_ns();
    return elapsed > 0 ? static_cast<double>(examples) / (static_cast<double>(elapsed) * 1e-9) : 0;
  }

 private:
  mutable std::mutex mutex_;
  std::int64_t stopped_ns_ = 0;                ///< the clock's time when it last stopped
  std::optional<std::int64_t> started_at_ns_;  ///< empty while the clock is stopped
};

}  // namespace regatta::run
