// SPDX-License-Identifier: Apache-2.0
//
// For tests: a GPU that is emulated. It has memory that only its queues can touch
// (hidden_memory_for_test.h), and queues that run the same kernels as loops on the calling thread.
#pragma once

#include <functional>
#include <memory>

#include "kernels/cuda/device/queue.h"
#include "kernels/runtime/device.h"

namespace regatta::cuda {

/// Its queues have done their work when the launch returns, or when the step is launched that they
/// are recorded in (function_recording_for_test.h).
std::unique_ptr<Device> make_emulated_device();

namespace testing_support {

class HiddenDevice;

class EmulatedQueue : public Queue {
 public:
  /// The device outlives it.
  explicit EmulatedQueue(HiddenDevice& device);
  ~EmulatedQueue() override;

  void set_step(const StepContext& context) override;
  void load_step() override;
  void fetch(float* to, const float* value) override;
  void copy(void* to, const void* from, std::int64_t bytes) override;
  /// By the host's clock, read when the queue comes to it.
  std::unique_ptr<QueueMark> make_mark() override;
  Device& device() const override;
  bool emulated() const override { return true; }
  CUstream_st* stream() const override { return nullptr; }
  const StepValues* values() const override { return values_; }
  void enqueue(std::function<void()> work) override;

 private:
  /// Does the work, now or later. While it is done, the device's memory can be touched.
  virtual void take(std::function<void()> work) = 0;

  HiddenDevice& device_;
  StepValues* values_;  ///< on the device
  StepValues step_;
};

}  // namespace testing_support
}  // namespace regatta::cuda
