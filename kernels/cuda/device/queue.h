// SPDX-License-Identifier: Apache-2.0
//
// A lane's queue on a GPU: one CUDA stream. Tests emulate one (emulated_for_test.h). No CUDA header
// is needed to include this.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/runtime/device.h"

struct CUstream_st;

namespace regatta::cuda {

/// What kernels know of the step, where they can read it: launches do not depend on it, so that
/// the same ones can be recorded once and replayed.
struct StepValues {
  std::int64_t step = 0;             ///< of this loop, from 0
  std::int64_t examples = 0;         ///< seen by all loops together when this step began
  std::int64_t examples_before = 0;  ///< when the loop's step before began; 0 in its first
};

class Queue : public LaneQueue {
 public:
  virtual bool emulated() const = 0;
  /// Null when emulated.
  virtual CUstream_st* stream() const = 0;
  /// For code on the device to read; written by begin_step().
  virtual const StepValues* values() const = 0;
  /// Whether an emulated queue keeps() work in place of having it done at once.
  virtual bool keeps_work() const { return false; }
  virtual void keep(std::function<void()> /*work*/) {}
};

/// A stream on GPU number `device`. Throws: RunError(Device) that says what is missing.
std::unique_ptr<Queue> make_queue(int device);

/// The queue of a kernel that is being built for a GPU: add_cuda_kernels' kernels have no other.
Queue& queue_of(const KernelRequest& request);

}  // namespace regatta::cuda
