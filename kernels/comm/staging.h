// SPDX-License-Identifier: Apache-2.0
//
// Provides host memory for tensors that the host sends, receives or sums. Tensors in host memory
// are used directly. A GPU's tensors get a copy: the lane's queue fills it before a message is
// sent, and reads from it, piece by piece, as a message arrives; the compute lane's queue continues
// meanwhile. A sender waits for the copy. A receiver need not, because the lane finishes its queue
// before another lane continues (kernels/runtime/lane.h).
// Threads: used only from the lane's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"

namespace regatta::comm {

class Staging {
 public:
  /// `queue` is the lane's queue and must outlive this object; null if the tensors are in host
  /// memory.
  Staging(LaneQueue* queue, std::span<const Tensor> tensors);

  /// Returns the tensors in host memory, in the order in which a message holds them.
  std::span<const Tensor> tensors() const { return staged_; }

  std::int64_t bytes() const { return bytes_; }

  /// Copies the device's tensors to host memory. Returns when the copy is done.
  void fetch();

  /// Starts a new message, of which store_until() has stored nothing yet.
  void begin() { stored_ = 0; }
  /// Stores the message's first `bytes` bytes, which have arrived in host memory, on the device:
  /// enqueues copies of the bytes that earlier calls have not copied. Does nothing without a queue.
  void store_until(std::int64_t bytes) {
    if (queue_ != nullptr) store(bytes);
  }

 private:
  void store(std::int64_t bytes);

  LaneQueue* queue_;
  std::vector<Tensor> tensors_;  ///< on the device
  std::vector<Tensor> staged_;
  std::optional<HostBuffer> buffer_;  ///< copy of all tensors, contiguous
  std::int64_t bytes_ = 0;
  std::int64_t stored_ = 0;
};

}  // namespace regatta::comm
