// SPDX-License-Identifier: Apache-2.0
//
// Sends under way, which no lane waits for. MPI moves what has begun only while some thread calls
// it, and lanes compute or sleep: a thread of the courier's polls for as long as anything is under
// way, and sleeps otherwise.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/runtime/counter.h"

namespace regatta {

/// One message's way out, once a step.
class Outgoing {
 public:
  /// Its `requests` are those of the message's chunks.
  explicit Outgoing(std::size_t chunks) : requests_(chunks, MPI_REQUEST_NULL) {}
  /// Frees the requests that a failed run has left.
  ~Outgoing();
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  std::vector<MPI_Request>& requests() { return requests_; }
  /// How often it has begun. Threads: the sending lane.
  void begin() { ++begun_; }
  std::uint64_t begun() const { return begun_; }

  /// Whether nothing of it is under way.
  bool has_left() const { return left_.value() == begun_; }

  /// Looks whether all chunks have left. Threads: the sending lane, then the courier's.
  /// Throws: RunError(PeerLost).
  bool look();
  /// Ends waits with this error.
  void fail(const std::string& error);

  /// Waits until the message has left `times` times, counted from the first. Returns false when
  /// the limit passed. Throws: RunError(PeerLost), Aborted. Threads: any.
  bool wait(std::uint64_t times, const Patience& patience);

 private:
  void leave();

  std::vector<MPI_Request> requests_;
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

  /// There will be one message more, which outlives the courier. Starts its thread, which so has
  /// the cores of the caller. Before the first run.
  void announce();
  /// Takes over a message that has begun. Threads: any.
  void take(Outgoing& outgoing);
  /// Ends at once, before memory goes away that is still being sent. Threads: one at a time.
  void stop();

 private:
  void run();
  /// Takes what was handed over; waits for it where nothing is under way.
  void collect();
  void look();

  std::mutex mutex_;
  std::vector<Outgoing*> handed_over_;  ///< as many as are announced fit in, as below
  std::vector<Outgoing*> under_way_;
  std::uint64_t announced_ = 0;
  Counter calls_;  ///< of take(), and one at the end
  std::uint64_t heard_ = 0;
  AbortFlag over_;
  std::thread thread_;
};

}  // namespace regatta
