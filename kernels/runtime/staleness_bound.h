// SPDX-License-Identifier: Apache-2.0
//
// Stale-synchronous parallel: a loop's clock is the number of steps it has finished, which is the
// index of the step it works on. A loop at clock c begins step c only when c - min_j clock_j <= s,
// so that no clock ever leads the slowest by more than s; s = 0 is lockstep. A loop that waits
// stops when the examples of the run have all been claimed. Source: Ho et al., "More effective
// distributed ML via a stale synchronous parallel parameter server", NIPS 2013.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>

#include "kernels/runtime/gate.h"

namespace regatta {

class StalenessBound {
 public:
  /// `bound`: s. Units: steps.
  StalenessBound(std::size_t loops, std::int64_t bound) : bound_(bound), clocks_(loops) {}

  /// The loop has finished `clock` steps; returns when it may begin the next, or when the run's
  /// examples are claimed. Threads: the loop's leader lane.
  /// Throws: Aborted; RunError(Timeout) that names the slowest loop.
  void await_turn(std::size_t loop, std::int64_t clock, const ExampleCount& count,
                  const Patience& patience);

  /// Of a run that goes on from a checkpoint: the loop has finished `clock` steps. Before it runs.
  void begin(std::size_t loop, std::int64_t clock) { clocks_.at(loop).finished = clock; }

  /// The loop's worker is lost and holds nobody back any more. Threads: any.
  void retire(std::size_t loop);

  /// By how many steps the loop was ahead of the slowest at the most. Not while loops run.
  std::int64_t largest_lead(std::size_t loop) const { return clocks_[loop].largest_lead; }

 private:
  struct alignas(64) Clock {
    std::atomic<std::int64_t> finished{0};
    std::atomic<bool> retired{false};  ///< holds nobody back
    std::int64_t largest_lead = 0;     ///< written by the loop's leader
  };
  std::size_t slowest() const;

  std::int64_t bound_;
  std::deque<Clock> clocks_;
};

}  // namespace regatta
