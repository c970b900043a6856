// SPDX-License-Identifier: Apache-2.0
//
// The queue of gRPC slices of one message that wait for its Receive kernel. Chunks must come in
// order and without gaps, and from no later than one step ahead of the kernel, so a peer can make
// this process hold at most two steps of the messages in the graph. Tickets may be kTicketsAhead
// ahead: a process with a part in few steps of a loop may lag behind it. Threads: a reactor fills
// it, one lane empties it.
#pragma once

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/comm/grpc/frame.h"
#include "kernels/runtime/counter.h"

namespace regatta::exchange {

/// When the chunks of one message came to this process. Units: ticks.
struct MessageArrival {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// With n peers a replica draws one of them in one of n steps; longer than this it leaves none out.
inline constexpr std::uint64_t kTicketsAhead = 65'536;

class Inbox {
 public:
  explicit Inbox(std::int64_t total_bytes, std::uint64_t steps_ahead = 1)
      : total_bytes_(total_bytes), steps_ahead_(steps_ahead) {}

  /// Takes the slices of one chunk, which `frame` describes. Returns why the chunk is refused, or
  /// an empty string. Threads: the reactor.
  std::string accept(const Frame& frame, std::vector<grpc::Slice>& payload);

  /// Nothing more will come: wakes the lane. Threads: any.
  void close();

  /// Waits for bytes that the lane has not taken. False: the limit passed. Throws: Aborted.
  /// Threads: the lane, as below.
  bool wait(const Patience& patience);
  /// Appends the slices that have arrived for the current step and returns their bytes. 0 after a
  /// wait: the inbox was closed.
  std::int64_t take(std::vector<grpc::Slice>& to);
  /// The arrival times of the message whose end take() took last.
  const MessageArrival& arrival() const { return taken_arrival_; }

  std::int64_t total_bytes() const { return total_bytes_; }

 private:
  std::string error_of(const Frame& frame) const;
  void make_room(std::size_t steps);

  /// What has come of a step.
  struct Step {
    std::vector<grpc::Slice> slices;
    MessageArrival arrival;
  };

  const std::int64_t total_bytes_;
  const std::uint64_t steps_ahead_;
  std::uint64_t taken_ = 0;  ///< by the lane, bytes since the first step
  Counter arrived_;          ///< of the message, so far; the largest value once closed
  MessageArrival taken_arrival_;

  std::mutex mutex_;
  std::vector<Step> steps_ = std::vector<Step>(2);  ///< a ring, of the steps that may be here
  std::size_t first_ = 0;                           ///< in the ring: the step that is received now
  std::uint64_t accepted_ = 0;                      ///< bytes since the first step
  std::uint64_t received_steps_ = 0;                ///< of which the lane has taken everything
  bool closed_ = false;
};

}  // namespace regatta::exchange
