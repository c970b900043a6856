// SPDX-License-Identifier: Apache-2.0
//
// For tests of recorded steps: makes the CPU's kernels behave like a GPU's, which only enqueue work
// that later reads, in the queue, the values that change from step to step.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "kernels/runtime/capture/function_recording_for_test.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"

namespace regatta::testing_support {

/// A queue that takes functions and can be recorded.
class DeferringQueue : public LaneQueue, public FunctionQueue {
 public:
  void set_step(const StepContext& context) override { context_ = context; }
  const StepContext& context() const { return context_; }
  void put(std::function<void()> work) {
    if (recording_ == nullptr) return start(std::move(work));
    recording_->add(number_, std::move(work));
  }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    put([=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
  }
  void record_into(FunctionRecording* recording, std::size_t number) override {
    recording_ = recording;
    number_ = number;
  }

 protected:
  /// Takes work outside of a recording.
  virtual void start(std::function<void()> work) = 0;

 private:
  StepContext context_;
  FunctionRecording* recording_ = nullptr;
  std::size_t number_ = 0;
};

class DeferredKernel final : public Kernel {
 public:
  DeferredKernel(std::unique_ptr<Kernel> kernel, LaneQueue* queue)
      : kernel_(std::move(kernel)), queue_(dynamic_cast<DeferringQueue&>(*queue)) {}
  void run(const StepContext&) override {
    queue_.put([this] { kernel_->run(queue_.context()); });
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  DeferringQueue& queue_;
};

/// Defers all kernels that the table has so far, of ops that compute and of copies.
inline void defer_kernels(KernelTable& table) {
  for (const OpInfo& info : all_ops()) {
    if (!table.has(info.op)) continue;
    table.add(info.op, [build = table.factory(info.op)](const KernelRequest& request) {
      auto kernel = build(request);
      return kernel == nullptr ? nullptr
                               : std::make_unique<DeferredKernel>(std::move(kernel), request.queue);
    });
  }
}

}  // namespace regatta::testing_support
