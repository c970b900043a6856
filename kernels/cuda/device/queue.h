// SPDX-License-Identifier: Apache-2.0
//
// A lane's queue on a GPU: one CUDA stream. Tests emulate one (emulated_for_test.h). No CUDA header
// is needed to include this.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/cuda/device/scratch.h"
#include "kernels/runtime/device.h"

struct CUstream_st;

namespace regatta::cuda {

/// Values of the step in the device's memory, so that launches do not depend on the step and
/// can be recorded once and replayed.
struct StepValues {
  std::int64_t step = 0;             ///< index in this loop, from 0
  std::int64_t examples = 0;         ///< seen by all loops together when this step began
  std::int64_t examples_before = 0;  ///< the same for the loop's previous step; 0 in its first
};

class Queue : public LaneQueue {
 public:
  /// Whose kernels and memory it uses; outlives it.
  virtual Device& device() const = 0;
  virtual bool emulated() const = 0;
  /// Null when emulated.
  virtual CUstream_st* stream() const = 0;
  /// Device memory.
  virtual const StepValues* values() const = 0;
  /// Work of an emulated queue: done at once, when the queue is finished, or when the step is
  /// launched that it is recorded in.
  virtual void enqueue(std::function<void()> /*work*/) {}

  /// Memory that the queue's kernels share, each while it runs: at least `bytes` from now on. It
  /// may move, so a kernel asks for its address in each run(). Called while kernels are built and
  /// the queue is empty. Throws: RunError when memory is short.
  void reserve_workspace(std::int64_t bytes);
  std::byte* workspace() const { return workspace_.as<std::byte>(); }

  std::int64_t held_bytes() const override {
    return static_cast<std::int64_t>(sizeof(StepValues)) + *held_;
  }
  const std::shared_ptr<HeldBytes>& held() const { return held_; }

 private:
  std::shared_ptr<HeldBytes> held_ = std::make_shared<HeldBytes>(0);
  Scratch workspace_;
};

/// A stream on GPU number `number`, which is `device`. Throws: RunError(Device).
std::unique_ptr<Queue> make_queue(Device& device, int number);

/// Pinned host memory, which GPU number `device` and the others copy from and to without the help
/// of the host. Throws: RunError(Device).
HostBuffer make_pinned(int device, std::int64_t bytes);

/// The queue of a kernel that is being built for a GPU: add_cuda_kernels' kernels have no other.
Queue& queue_of(const KernelRequest& request);

}  // namespace regatta::cuda
