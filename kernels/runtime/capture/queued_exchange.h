// SPDX-License-Identifier: Apache-2.0
//
// What crosses places by work in a queue alone, without the host: so it may be part of a recorded
// step (step_recorder.h). Where the work waits in the queue for other processes, somebody has to
// look whether they are still there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace regatta {

class QueuedExchange;

/// Exchanges of several lanes of one loop that are one piece of work. When what is in the queues of
/// all members before it is done, one of them has it done in its own queue; then all go on.
struct Meeting {
  std::size_t members = 0;
  const QueuedExchange* in_charge = nullptr;  ///< the one whose enqueue() puts the work in
};

/// Threads: whoever records, then the one lane that launches.
class QueuedExchange {
 public:
  QueuedExchange() = default;
  QueuedExchange(const QueuedExchange&) = delete;
  QueuedExchange& operator=(const QueuedExchange&) = delete;
  virtual ~QueuedExchange() = default;
  /// Puts the work of one step into the queue and waits for none of it.
  virtual void enqueue() = 0;
  /// A launched step has ended.
  virtual void count_step() = 0;

  /// The same object for all members; null: the work is the lane's own.
  virtual const Meeting* meeting() const { return nullptr; }

  /// Whether its work waits for others; the rest is for such ones.
  virtual bool awaits_others() const { return false; }
  /// While a launched step has been awaited for so long. Throws: RunError(PeerLost),
  /// RunError(Timeout), RunError(Device) where it will not end; give_up() has still to be called.
  virtual void look(std::int64_t /*waited_ns*/) {}
  /// Makes a step that is under way end. After the recorded steps are gone: NCCL waits for them
  /// before it lets a communicator go.
  virtual void give_up() noexcept {}
};

}  // namespace regatta
