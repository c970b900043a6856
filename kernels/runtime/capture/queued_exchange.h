// SPDX-License-Identifier: Apache-2.0
//
// Communication between places that runs in a queue without the host, so a recorded step can
// contain it (step_recorder.h). If its work waits for other members, the host must check that they
// are still there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace regatta {

class QueuedExchange;

/// One piece of work that exchanges of several lanes of a loop share. It starts when the earlier
/// work of all members' queues is done and runs in one member's queue; then all queues continue.
struct SharedLaunch {
  std::size_t members = 0;
  const QueuedExchange* launcher = nullptr;  ///< its enqueue() does the work
};

/// Threads: the recording thread, then the lane that launches.
class QueuedExchange {
 public:
  QueuedExchange() = default;
  QueuedExchange(const QueuedExchange&) = delete;
  QueuedExchange& operator=(const QueuedExchange&) = delete;
  virtual ~QueuedExchange() = default;
  /// Puts the work of one step into the queue without waiting for it.
  virtual void enqueue() = 0;
  /// Called when a launched step has ended.
  virtual void count_step() = 0;

  /// The shared launch, one object for all its members; null: the work is the lane's own.
  virtual const SharedLaunch* shared_launch() const { return nullptr; }

  /// Whether the work waits for other members. Only then are look() and give_up() called.
  virtual bool awaits_others() const { return false; }
  /// Called repeatedly while a launched step runs, with the time waited so far. Throws:
  /// RunError(PeerLost), RunError(Timeout), RunError(Device) when the step will not end; the caller
  /// must still call give_up().
  virtual void look(std::int64_t /*waited_ns*/) {}
  /// Makes a step that is under way end. Called after the recorded steps are destroyed: NCCL waits
  /// for them before it frees a communicator.
  virtual void give_up() noexcept {}
};

}  // namespace regatta
