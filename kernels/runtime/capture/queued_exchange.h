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

/// A launch that does the exchanges of several lanes of a loop at once. It runs in the queue of one
/// member after the earlier work in all members' queues; then all queues continue.
struct SharedLaunch {
  std::size_t members = 0;
  const QueuedExchange* launcher = nullptr;  ///< the member whose enqueue() does the work
};

/// An exchange that works in its lane's queue. Threads: used from the recording thread, then from
/// the lane that launches the recorded steps.
class QueuedExchange {
 public:
  QueuedExchange() = default;
  QueuedExchange(const QueuedExchange&) = delete;
  QueuedExchange& operator=(const QueuedExchange&) = delete;
  virtual ~QueuedExchange() = default;
  /// Puts the work of one step into the queue without waiting for it.
  virtual void enqueue() = 0;
  /// Counts the traffic of one step. Called when a launched step has ended.
  virtual void count_step() = 0;

  /// Returns the shared launch, one object for all its members; null if the work is not shared.
  virtual const SharedLaunch* shared_launch() const { return nullptr; }

  /// Whether the work waits for other members; look() and give_up() are called only then.
  virtual bool awaits_others() const { return false; }
  /// Called repeatedly while a launched step runs, with the time waited so far. Throws:
  /// RunError(PeerLost), RunError(Timeout), RunError(Device) when the step will not end; the caller
  /// must still call give_up().
  virtual void look(std::int64_t /*waited_ns*/) {}
  /// Ends a step that is still running. Called after the recorded steps are destroyed: NCCL waits
  /// for that before it frees a communicator.
  virtual void give_up() noexcept {}
};

}  // namespace regatta
