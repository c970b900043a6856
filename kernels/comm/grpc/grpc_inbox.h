// SPDX-License-Identifier: Apache-2.0
//
// The queue of gRPC slices of one message, from which the message's Receive kernel takes. Chunks
// must come in order, without gaps, and at most one step ahead of the kernel, so a peer can make
// this process hold at most two steps of each message. Tickets may be kTicketsAhead steps ahead,
// because a process that takes part in few steps of a loop may lag behind the loop. Threads: a gRPC
// reactor fills the queue, one lane empties it.
#pragma once

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/comm/grpc/frame.h"
#include "kernels/runtime/counter.h"

namespace regatta::comm {

/// The times at which the first and the last chunk of a message arrived here. Units: ticks.
struct MessageArrival {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// The most steps that tickets may be ahead of their receiver. A replica with n peers draws a given
/// peer in one of n steps on average; the gap between two such steps is assumed to be shorter.
inline constexpr std::uint64_t kTicketsAhead = 65'536;

class Inbox {
 public:
  explicit Inbox(std::int64_t total_bytes, std::uint64_t steps_ahead = 1)
      : total_bytes_(total_bytes), steps_ahead_(steps_ahead) {}

  /// Takes the slices of the chunk that `frame` describes. Returns the reason if the chunk is
  /// refused, else an empty string. Threads: called only by the reactor.
  std::string accept(const Frame& frame, std::vector<grpc::Slice>& payload);

  /// Closes the inbox for good and wakes the lane. Threads: any.
  void close();

  /// Waits until there are bytes to take or the inbox is closed. Returns false if that takes longer
  /// than `patience.limit_ns`. Threads: this function and those below are called only by the lane.
  /// Throws: Aborted.
  bool wait(const Patience& patience);
  /// Appends the slices that have arrived for the current step to `to`. Returns their bytes; 0
  /// after a successful wait() means that the inbox is closed.
  std::int64_t take(std::vector<grpc::Slice>& to);
  /// Returns the arrival times of the message whose last bytes take() returned most recently.
  const MessageArrival& arrival() const { return taken_arrival_; }

  std::int64_t total_bytes() const { return total_bytes_; }

 private:
  std::string error_of(const Frame& frame) const;
  void make_room(std::size_t steps);

  /// The chunks of one step that have arrived.
  struct Step {
    std::vector<grpc::Slice> slices;
    MessageArrival arrival;
  };

  const std::int64_t total_bytes_;
  const std::uint64_t steps_ahead_;
  std::uint64_t taken_ = 0;  ///< bytes taken by the lane since the first step
  Counter arrived_;          ///< bytes arrived of the message; the largest value once closed
  MessageArrival taken_arrival_;

  std::mutex mutex_;
  std::vector<Step> steps_ = std::vector<Step>(2);  ///< a ring of the steps that may be held
  std::size_t first_ = 0;                           ///< index in the ring of the step received now
  std::uint64_t accepted_ = 0;                      ///< bytes since the first step
  std::uint64_t received_steps_ = 0;                ///< steps that the lane has taken whole
  bool closed_ = false;
};

}  // namespace regatta::comm
