// SPDX-License-Identifier: Apache-2.0
//
// Orders a thread that sets up an object before gRPC's threads that use it: the first calls
// publish(), the others see(). gRPC orders them as well, but the thread sanitizer cannot observe
// that in a library that is not built for it.
#pragma once

#include <atomic>

namespace regatta::exchange {

class Published {
 public:
  /// Makes this thread's earlier writes visible after later calls of see().
  void publish() { published_.store(true, std::memory_order_release); }
  /// Threads: gRPC's.
  void see() const { static_cast<void>(published_.load(std::memory_order_acquire)); }

 private:
  std::atomic<bool> published_{false};
};

}  // namespace regatta::exchange
