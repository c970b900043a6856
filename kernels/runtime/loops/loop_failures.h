// SPDX-License-Identifier: Apache-2.0
//
// What becomes of the other loops when a lane of one fails. A lost peer ends its own loop, and the
// run too unless that may go on; every other error ends the run.
// Threads: any lane may report; the rest not while lanes run.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/runtime/kernel.h"

namespace regatta {

/// When the worker of one of several loops is lost.
enum class OnLoss : std::uint8_t {
  End,       ///< so does the run
  Continue,  ///< the other loops go on without it
};

class LoopFailures {
 public:
  /// `retire` is told of a loop that the others go on without, and says why they cannot, if so;
  /// `abandon` is told of every loop that ends.
  LoopFailures(int loops, OnLoss on_loss, std::function<std::string(int)> retire,
               std::function<void(int)> abandon);

  /// Raised when the loop has to end.
  const AbortFlag& flag(int loop) const { return flags_[static_cast<std::size_t>(loop)]; }
  /// Ends the loop. Returns what the whole run ends by, and then all loops have been ended; null
  /// when it goes on.
  std::exception_ptr end_of_run(int loop, const std::exception_ptr& error);
  void end_all();
  /// Why loops ended that the run went on without.
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
