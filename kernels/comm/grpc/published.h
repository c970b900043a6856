// SPDX-License-Identifier: Apache-2.0
//
// Makes the set-up of an object by one thread happen before its use by gRPC's threads: the first
// thread calls publish(), the others call see(). gRPC guarantees this order anyway, but the thread
// sanitizer cannot observe it in a library that is not built with it.
#pragma once

#include <atomic>

namespace regatta::comm {

class Published {
 public:
  /// Makes this thread's earlier writes visible after later calls of see().
  void publish() { published_.store(true, std::memory_order_release); }
  /// Makes the writes before publish() visible to the calling thread, one of gRPC's.
  void see() const { static_cast<void>(published_.load(std::memory_order_acquire)); }

 private:
  std::atomic<bool> published_{false};
};

}  // namespace regatta::comm
