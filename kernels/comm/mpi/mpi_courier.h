// SPDX-License-Identifier: Apache-2.0
//
// Completes sends in the background, so that no lane waits for them. MPI progresses a send only
// while some thread calls MPI, but lanes compute or sleep. The courier's thread therefore polls MPI
// while any send is in progress, and sleeps otherwise.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/runtime/counter.h"

namespace regatta::comm {

/// The sends of one message, which start anew in every step.
class Outgoing {
 public:
  /// `chunks` is the number of the message's chunks, each of which has a request.
  explicit Outgoing(std::size_t chunks) : requests_(chunks) {}
  /// Frees the requests of a failed run.
  ~Outgoing();
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  std::vector<MpiRequest>& requests() { return requests_; }
  /// Counts one more start of the message; begun() returns the number of starts. Threads: called
  /// only by the sending lane.
  void begin() { ++begun_; }
  std::uint64_t begun() const { return begun_; }

  /// Whether the message has been sent completely as often as it was started.
  bool has_left() const { return left_.value() == begun_; }

  /// Tests the requests. Returns whether all chunks of the current step are sent. Threads: called
  /// by the sending lane; after MpiCourier::take(), by the courier's thread. Throws:
  /// RunError(PeerLost).
  bool look();
  /// Makes current and later calls of wait() throw RunError(PeerLost) with `error`.
  void fail(const std::string& error);

  /// Waits until the message has been sent completely `times` times since the run began. Returns
  /// false if that takes longer than `patience.limit_ns`. Throws: RunError(PeerLost), Aborted.
  /// Threads: any.
  bool wait(std::uint64_t times, const Patience& patience);

 private:
  void leave();

  std::vector<MpiRequest> requests_;
  std::size_t next_ = 0;  ///< the first chunk that has not left
  std::uint64_t begun_ = 0;
  Counter left_;
  std::mutex mutex_;
  std::string error_;
};

class MpiCourier {
 public:
  MpiCourier() = default;
  ~MpiCourier() { stop(); }
  MpiCourier(const MpiCourier&) = delete;
  MpiCourier& operator=(const MpiCourier&) = delete;

  /// Makes room for one more message, which must outlive the courier. The first call starts the
  /// courier's thread, which inherits the caller's cores. Called before the first run.
  void announce();
  /// Takes over a message whose sends have been started, and completes them. Threads: any.
  void take(Outgoing& outgoing);
  /// Stops the thread without completing sends. Called before memory that is being sent is freed.
  /// Not called by two threads at once.
  void stop();

 private:
  void run();
  /// Moves messages handed over to those under way; waits for some if none is under way.
  void collect();
  void look();

  std::mutex mutex_;
  std::vector<Outgoing*> handed_over_;  ///< capacity for all announced, as `under_way_`
  std::vector<Outgoing*> under_way_;
  std::uint64_t announced_ = 0;
  Counter calls_;  ///< calls of take(), plus one at the end
  std::uint64_t heard_ = 0;
  AbortFlag over_;
  std::thread thread_;
};

}  // namespace regatta::comm
