// SPDX-License-Identifier: Apache-2.0
//
// Decides which loops end when a lane fails. The loss of a worker ends the worker's loop and,
// unless the run may go on without that worker, the whole run. Every other error ends the run.
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

/// The effect of losing a loop's worker, in a graph with several loops.
enum class OnLoss : std::uint8_t {
  End,       ///< the run ends
  Continue,  ///< the other loops go on without it
};

class LoopFailures {
 public:
  /// `retire` is called with a loop whose worker is lost; it returns an empty string if the other
  /// loops can go on without it, else the reason why not. `abandon` is called with every loop that
  /// ends.
  LoopFailures(int loops, OnLoss on_loss, std::function<std::string(int)> retire,
               std::function<void(int)> abandon);

  /// Returns the flag that is raised when the loop must end.
  const AbortFlag& flag(int loop) const { return flags_[static_cast<std::size_t>(loop)]; }
  /// Ends `loop`, in which a lane failed with `error`. Returns null if the run goes on without the
  /// loop; otherwise ends all loops and returns the error that the run ends with.
  std::exception_ptr end_of_run(int loop, const std::exception_ptr& error);
  void end_all();
  /// Returns one reason for each worker that was lost.
  const std::vector<std::string>& lost() const { return lost_; }

 private:
  void end(int loop);

  std::deque<AbortFlag> flags_;  ///< `flags_[l]` is that of loop l
  OnLoss on_loss_;
  std::function<std::string(int)> retire_;
  std::function<void(int)> abandon_;
  std::mutex mutex_;
  std::vector<int> retired_;
  std::vector<std::string> lost_;
};

}  // namespace regatta
