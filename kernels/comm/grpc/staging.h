// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a message where the host works on them. Without a queue that is the memory they
// are in. What a GPU computes with stays in its memory: beside it is host memory that the lane's
// queue copies to before a message is sent, and from as one arrives, piece by piece, while the
// compute lane's queue goes on. Who sends waits for its copy; who received need not, as the lane
// finishes its queue before another one goes on (kernels/runtime/lane.h).
// Threads: the lane.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"

namespace regatta::exchange {

class Staging {
 public:
  /// `queue`: of the lane, which outlives this; null where the host computes.
  Staging(LaneQueue* queue, std::span<const Tensor> tensors);

  /// In host memory, in the order of the message.
  std::span<const Tensor> tensors() const { return staged_; }

  /// Brings what is in the device's memory. Returns when it is there.
  void fetch();

  /// A message begins to arrive.
  void begin() { stored_ = 0; }
  /// Its first `bytes` are in host memory: puts those of them into the queue that are not yet.
  void store_until(std::int64_t bytes) {
    if (queue_ != nullptr) store(bytes);
  }

 private:
  void store(std::int64_t bytes);

  LaneQueue* queue_;
  std::vector<Tensor> tensors_;  ///< on the device
  std::vector<Tensor> staged_;
  std::optional<HostBuffer> buffer_;
  std::int64_t stored_ = 0;
};

}  // namespace regatta::exchange
