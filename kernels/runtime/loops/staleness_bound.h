// SPDX-License-Identifier: Apache-2.0
//
// Stale-synchronous parallel: a loop's clock is the number of steps it has finished, which is the
// index of the step it works on. A loop at clock c begins step c only when c - min_j clock_j <= s,
// so that no clock ever leads the slowest by more than s; s = 0 is lockstep. A step is finished
// when its updates are applied, so step c of a loop reads at least the updates of the first c - s
// steps of all loops. Each process that holds parameters applies the bound to its own part of every
// loop, so that this holds on every server. A wait ends when all examples of the run are claimed.
// A simulation calls the same object, and waits in virtual time.
// Source: Ho et al., "More effective distributed ML via a stale synchronous parallel parameter
// server", NIPS 2013.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>

#include "kernels/runtime/loops/gate.h"

namespace regatta {

class StalenessBound {
 public:
  /// `bound` is the s of the formula above: the most steps by which a loop may lead the slowest.
  StalenessBound(std::size_t loops, std::int64_t bound) : bound_(bound), clocks_(loops) {}

  /// Records that the loop has finished `clock` steps in all its lanes of this process. Threads:
  /// called only by the loop's leader lane; when resuming from a checkpoint, by any thread before
  /// the loop runs.
  void finish(std::size_t loop, std::int64_t clock) {
    clocks_.at(loop).finished.store(clock, std::memory_order_release);
  }

  /// Whether a loop that has finished `clock` steps may begin its next step.
  bool lets_begin(std::int64_t clock) const { return clock - slowest().finished <= bound_; }

  /// Waits until the loop may begin its next step, or until all examples of the run are claimed.
  /// Threads: called only by the loop's leader lane. Throws: Aborted; RunError(Timeout) that names
  /// the slowest loop.
  void await_turn(std::size_t loop, const ExampleCount& count, const Patience& patience) const;

  /// Lets the other loops go on without waiting for this one: its worker is lost, or has seen all
  /// examples. Threads: any.
  void retire(std::size_t loop) { clocks_[loop].retired.store(true, std::memory_order_release); }
  /// Makes the other loops wait for this one again, after retire().
  void rejoin(std::size_t loop) { clocks_[loop].retired.store(false, std::memory_order_release); }

 private:
  struct alignas(64) Clock {
    std::atomic<std::int64_t> finished{0};
    std::atomic<bool> retired{false};  ///< does not hold others back
  };
  /// The last known clock of a loop.
  struct Reading {
    std::size_t loop = 0;
    std::int64_t finished = 0;
  };
  Reading slowest() const;

  std::int64_t bound_;
  std::deque<Clock> clocks_;
};

}  // namespace regatta
