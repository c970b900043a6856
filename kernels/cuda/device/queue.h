// SPDX-License-Identifier: Apache-2.0
//
// A lane's queue on a GPU: one CUDA stream. Tests also have an emulated queue, which runs the same
// kernels as loops on the calling thread, at once or when the step that records them is launched.
// This header needs no CUDA header.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/runtime/device.h"

struct CUstream_st;

namespace regatta::cuda {

/// Values of the step in memory that kernels read, so that launches do not depend on the step and
/// can be recorded once and replayed.
struct StepValues {
  std::int64_t step = 0;             ///< index in this loop, from 0
  std::int64_t examples = 0;         ///< seen by all loops together when this step began
  std::int64_t examples_before = 0;  ///< the same for the loop's previous step; 0 in its first
};

class Queue : public LaneQueue {
 public:
  virtual bool emulated() const = 0;
  /// Null when emulated.
  virtual CUstream_st* stream() const = 0;
  /// Memory that device code reads; begin_step() writes it.
  virtual const StepValues* values() const = 0;
  /// Whether an emulated queue currently keeps work for a recording instead of doing it at once.
  virtual bool keeps_work() const { return false; }
  virtual void keep(std::function<void()> /*work*/) {}
  /// The mark of an emulated queue, by the host's clock.
  std::unique_ptr<QueueMark> make_mark() override;
};

/// A stream on GPU number `device`. Throws: RunError(Device) that says what is missing.
std::unique_ptr<Queue> make_queue(int device);

/// For tests.
std::unique_ptr<Queue> make_emulated_queue();

/// The queue of a kernel that is being built for a GPU; kernels from add_cuda_kernels() have no
/// other kind.
Queue& queue_of(const KernelRequest& request);

}  // namespace regatta::cuda
