// SPDX-License-Identifier: Apache-2.0
//
// The flag that a loop's worker is lost; each process of the loop has one. If the run may go on
// without the worker, the servers still finish their current step of the loop: messages from and to
// the worker set this flag and are skipped, the worker's push is not counted, and the loop ends
// after the step. Therefore no server stops between sending a decision to another server and acting
// on it.
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace regatta {

/// The effect of losing a loop's worker, in a graph with several loops.
enum class OnLoss : std::uint8_t {
  End,       ///< the run ends
  Continue,  ///< the other loops go on without it
};

class Absence {
 public:
  /// Records the first reason; later calls change nothing.
  void note(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (noted_) return;
    reason_ = reason;
    noted_ = true;
  }
  bool noted() const { return noted_; }
  std::string reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
  }

 private:
  mutable std::mutex mutex_;
  std::string reason_;
  std::atomic<bool> noted_{false};
};

}  // namespace regatta
