// SPDX-License-Identifier: Apache-2.0
//
// Records when the pushes of all workers arrived at one server: when each worker's gradients of a
// step were complete there, by the server's clock. A push may consist of several messages. Threads:
// the lanes of the server's place call note(); no lane begins a step before all of them have ended
// the previous step.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "kernels/comm/exchange_times.h"

namespace regatta::comm {

class PushLedger {
 public:
  explicit PushLedger(const Place& server) : server_(server) {}

  /// Declares a message that is part of each push from `worker`. Returns the message's index for
  /// note(). Called before the first step.
  std::size_t expect(const Place& worker);

  /// Notes that `message`, an index from expect(), was complete in this step at time `complete`.
  /// Units: ticks.
  void note(std::size_t message, std::uint64_t complete);

  /// Adds each worker's lateness and number of pushes, and the server's barriers and number of
  /// pushes, to `all`. Not called while lanes run.
  void add_to(ExchangeTimesByPlace& all) const;

 private:
  struct Worker {
    Place place;
    std::uint64_t complete = 0;  ///< time at which its push of this step was complete
    SpanHistogram late;
  };
  struct Expected {
    std::size_t worker = 0;
    std::uint64_t complete = 0;
  };
  void end_step();

  const Place server_;
  std::vector<Worker> workers_;
  std::vector<Expected> messages_;
  std::atomic<std::size_t> noted_{0};  ///< messages noted in this step
  SpanHistogram barrier_;
  std::int64_t steps_ = 0;
};

}  // namespace regatta::comm
