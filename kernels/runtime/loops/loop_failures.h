// SPDX-License-Identifier: Apache-2.0
//
// Decides which loops end when a lane fails. A lost peer ends its own loop and, unless the run may
// go on without it, the run; every other error ends the run.
// Threads: any lane calls end_of_run(); lost() is not read while lanes run.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/runtime/kernel.h"

namespace regatta {

/// The effect of losing the worker of one of several loops.
enum class OnLoss : std::uint8_t {
  End,       ///< the run ends
  Continue,  ///< the other loops go on without it
};

class LoopFailures {
 public:
  /// `retire` is called with a loop that the others go on without; it returns an empty string, or
  /// the reason why they cannot. `abandon` is called with every loop that ends.
  LoopFailures(int loops, OnLoss on_loss, std::function<std::string(int)> retire,
               std::function<void(int)> abandon);

  /// Raised when the loop must end.
  const AbortFlag& flag(int loop) const { return flags_[static_cast<std::size_t>(loop)]; }
  /// Ends the loop. Returns null if the run goes on; otherwise ends all loops and returns the error
  /// that the run ends with.
  std::exception_ptr end_of_run(int loop, const std::exception_ptr& error);
  void end_all();
  /// The reason for each lost loop without which the run went on.
  const std::vector<std::string>& lost() const { return lost_; }

 private:
  void end(int loop);

  std::deque<AbortFlag> flags_;  ///< by loop
  OnLoss on_loss_;
  std::function<std::string(int)> retire_;
  std::function<void(int)> abandon_;
  std::mutex mutex_;
  std::vector<int> retired_;
  std::vector<std::string> lost_;
};

}  // namespace regatta
