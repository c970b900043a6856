// SPDX-License-Identifier: Apache-2.0
//
// Prepares the batches of the next steps on its own thread, in two staging buffers. Threads: only
// one lane calls take(); the prefetcher's thread never fills the buffer that is being used.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "kernels/runtime/kernel.h"

namespace regatta::cpu {

class Prefetcher {
 public:
  /// fill(step, buffer) prepares the batch of a step in buffer 0 or 1; it must not throw.
  using Fill = std::function<void(std::int64_t step, std::size_t buffer)>;
  explicit Prefetcher(Fill fill);
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Waits for the batch of `step` and calls use(buffer) with the buffer that holds it. Prefetching
  /// restarts at `step` if it does not follow the previous call's step.
  /// Throws: Aborted.
  void take(std::int64_t step, const AbortFlag* abort,
            const std::function<void(std::size_t buffer)>& use);

 private:
  static constexpr std::int64_t kBuffers = 2;
  static std::size_t buffer_of(std::int64_t step) {
    return static_cast<std::size_t>(step % kBuffers);
  }
  void work();

  Fill fill_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t wanted_ = 0;  ///< the step expected in the next take()
  std::int64_t ready_ = 0;   ///< steps wanted_ … ready_ - 1 are prepared
  bool quit_ = false;
  std::thread thread_;  // last member: it uses all of the above
};

}  // namespace regatta::cpu
