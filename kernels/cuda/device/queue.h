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
};

/// A stream on GPU number `device`. Throws: RunError(Device) that says what is missing.
std::unique_ptr<Queue> make_queue(int device);

/// The queue of a kernel that is being built for a GPU: add_cuda_kernels' kernels have no other.
Queue& queue_of(const KernelRequest& request);

}  // namespace regatta::cuda
