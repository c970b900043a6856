// SPDX-License-Identifier: Apache-2.0
//
// Who sets an object up and then hands it to gRPC publishes it; gRPC's threads see it before they
// touch it. gRPC orders the two as well, but by means that the thread sanitizer cannot observe in a
// library that is not built for it.
#pragma once

#include <atomic>

namespace regatta::exchange {

class Published {
 public:
  /// What this thread wrote so far is there for whoever calls see() from now on.
  void publish() { published_.store(true, std::memory_order_release); }
  /// Threads: gRPC's.
  void see() const { static_cast<void>(published_.load(std::memory_order_acquire)); }

 private:
  std::atomic<bool> published_{false};
};

}  // namespace regatta::exchange
