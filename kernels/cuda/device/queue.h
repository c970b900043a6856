// SPDX-License-Identifier: Apache-2.0
//
// A lane's queue on a GPU: one CUDA stream. Tests emulate one (emulated_for_test.h). This header
// includes no CUDA header.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/cuda/device/scratch.h"
#include "kernels/runtime/device.h"

struct CUstream_st;

namespace regatta::cuda {

/// The step's values, kept in the device's memory so that launches do not depend on the step and
/// can be recorded once and replayed.
struct StepValues {
  std::int64_t step = 0;             ///< index in this loop, from 0
  std::int64_t examples = 0;         ///< seen by all loops together when this step began
  std::int64_t examples_before = 0;  ///< `examples` of the loop's previous step; 0 in its first
};

class Queue : public LaneQueue {
 public:
  /// Returns the device to which the queue's kernels and memory belong; it must outlive the queue.
  virtual Device& device() const = 0;
  virtual bool emulated() const = 0;
  /// Returns the CUDA stream; null if the queue is emulated.
  virtual CUstream_st* stream() const = 0;
  /// Returns the address of the step's values in device memory.
  virtual const StepValues* values() const = 0;
  /// Enqueues work on an emulated queue. It runs at once, when the queue is finished, or, if
  /// recorded, when its step is launched.
  virtual void enqueue(std::function<void()> /*work*/) {}

  /// Reserves at least `bytes` of memory that the queue's kernels share, each while it runs. The
  /// memory may move, so a kernel must call workspace() in each run(). Call it while kernels are
  /// built and the queue is empty. Throws: RunError when memory is short.
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

/// Makes a queue with a stream of its own on GPU number `number`; `device` must stand for this GPU.
/// Throws: RunError(Device).
std::unique_ptr<Queue> make_queue(Device& device, int number);

/// Allocates pinned host memory, which GPU number `device` and all other GPUs can copy from and to
/// without the CPU's help. Throws: RunError(Device).
HostBuffer make_pinned(int device, std::int64_t bytes);

/// Returns the queue of a kernel under construction. The queue of every kernel of
/// add_cuda_kernels() must be a Queue.
Queue& queue_of(const KernelRequest& request);

}  // namespace regatta::cuda
