// SPDX-License-Identifier: Apache-2.0
//
// Host memory for tensors that the host sends, receives or sums. Without a queue it is the tensors'
// own memory. A GPU's tensors have a copy in host memory: the lane's queue copies to it before a
// message is sent, and from it piece by piece as a message arrives, while the compute lane's queue
// continues. A sender waits for its copy; a receiver need not, because the lane finishes its queue
// before another lane continues (kernels/runtime/lane.h).
// Threads: the lane.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

class Staging {
 public:
  /// `queue` is the lane's, which outlives this; null if the host computes.
  Staging(LaneQueue* queue, std::span<const Tensor> tensors);

  /// The tensors in host memory, in the order of the message.
  std::span<const Tensor> tensors() const { return staged_; }

  std::int64_t bytes() const { return bytes_; }

  /// Copies the device's tensors to host memory. Returns when the copy is done.
  void fetch();

  /// Starts storing a message that arrives.
  void begin() { stored_ = 0; }
  /// Enqueues the copies to the device of those of the message's first `bytes`, now in host memory,
  /// that are not yet copied.
  void store_until(std::int64_t bytes) {
    if (queue_ != nullptr) store(bytes);
  }

 private:
  void store(std::int64_t bytes);

  LaneQueue* queue_;
  std::vector<Tensor> tensors_;  ///< on the device
  std::vector<Tensor> staged_;
  std::optional<HostBuffer> buffer_;  ///< of all tensors, contiguous
  std::int64_t bytes_ = 0;
  std::int64_t stored_ = 0;
};

}  // namespace regatta
