// SPDX-License-Identifier: Apache-2.0
//
// For tests: an emulated GPU. Only its queues can touch its memory (hidden_memory_for_test.h), and
// they run the same kernels as loops on the calling thread.
#pragma once

#include <functional>
#include <memory>

#include "kernels/cuda/device/queue.h"
#include "kernels/runtime/device.h"

namespace regatta::cuda {

/// A GPU with queues that do work before the launch returns or, if it is recorded
/// (function_recording_for_test.h), when its step is launched.
std::unique_ptr<Device> make_emulated_device();

namespace testing_support {

class HiddenDevice;

class EmulatedQueue : public Queue {
 public:
  /// The device outlives the queue.
  explicit EmulatedQueue(HiddenDevice& device);
  ~EmulatedQueue() override;

  void set_step(const StepContext& context) override;
  void load_step() override;
  void fetch(float* to, const float* value) override;
  void copy(void* to, const void* from, std::int64_t bytes) override;
  /// Makes a mark that reads the host's clock when the queue reaches it.
  std::unique_ptr<QueueMark> make_mark() override;
  Device& device() const override;
  bool emulated() const override { return true; }
  CUstream_st* stream() const override { return nullptr; }
  const StepValues* values() const override { return values_; }
  void enqueue(std::function<void()> work) override;

 private:
  /// Does the work, now or later, and opens the device's memory meanwhile.
  virtual void take(std::function<void()> work) = 0;

  HiddenDevice& device_;
  StepValues* values_;  ///< on the device
  StepValues step_;
};

}  // namespace testing_support
}  // namespace regatta::cuda
