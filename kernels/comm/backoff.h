// SPDX-License-Identifier: Apache-2.0
//
// How to look again and again for something that no counter tells of: as counter.h waits, but in
// place of sleeping until woken it naps, and looks in between. Looks cost the core of whoever
// computes, so naps grow while nothing happens.
#pragma once

#include <cstdint>

#include "kernels/runtime/counter.h"

namespace regatta {

class Backoff {
 public:
  explicit Backoff(const Patience& patience) : patience_(patience) {}

  /// Something happened: a new wait may begin.
  void reset() {
    looks_ = 0;
    nap_ns_ = kFirstNapNs;
  }

  /// Lets a moment pass. Returns false when the limit has passed. Throws: Aborted.
  bool wait();

  /// So long the core is offered to others between looks, without a nap: a chunk takes as long.
  static constexpr std::int64_t kYieldNs = 100'000;
  static constexpr std::int64_t kFirstNapNs = 10'000;
  static constexpr std::int64_t kLongestNapNs = 100'000;

 private:
  const Patience& patience_;
  int looks_ = 0;
  std::int64_t nap_ns_ = kFirstNapNs;
  std::int64_t began_ = 0;  ///< when spinning ended
};

}  // namespace regatta
