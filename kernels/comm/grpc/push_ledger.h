// SPDX-License-Identifier: Apache-2.0
//
// Arrival times of workers' pushes at one place of a server: when every worker's gradients of a
// step were complete, by the server's clock. One push may travel as several messages. Threads:
// lanes of one place call note(); none of them begins a step before all have ended the previous
// one.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "kernels/comm/exchange_times.h"

namespace regatta {

class PushLedger {
 public:
  explicit PushLedger(const Place& server) : server_(server) {}

  /// Declares one message of each step's push from `worker`; returns its number for note(). Called
  /// before the first step.
  std::size_t expect(const Place& worker);

  /// Notes when this step's message was complete. Units: ticks.
  void note(std::size_t message, std::uint64_t complete);

  /// Adds lateness and pushes of the workers, barriers and pushes of the server. Not called while
  /// lanes run.
  void add_to(ExchangeTimesByPlace& all) const;

 private:
  struct Worker {
    Place place;
    std::uint64_t complete = 0;  ///< when its push of this step was complete
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

}  // namespace regatta
