// SPDX-License-Identifier: Apache-2.0
//
// For tests: an emulated GPU with queues that do nothing until they are finished. Code that reads
// memory, sends it, or lets another queue proceed too early sees old data.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cuda/device/emulated_for_test.h"
#include "kernels/cuda/device/hidden_memory_for_test.h"

namespace regatta::cuda::testing_support {

class LateQueue : public EmulatedQueue {
 public:
  using EmulatedQueue::EmulatedQueue;
  void set_step(const StepContext& context) override {
    EXPECT_TRUE(work_.empty()) << "the step before was not finished";
    EmulatedQueue::set_step(context);
  }
  void finish() override {
    for (const auto& work : std::exchange(work_, {})) work();
  }

 private:
  void take(std::function<void()> work) override { work_.push_back(std::move(work)); }

  std::vector<std::function<void()>> work_;
};

class LateGpu final : public HiddenDevice {
 public:
  std::unique_ptr<LaneQueue> make_queue() override { return std::make_unique<LateQueue>(*this); }
};

}  // namespace regatta::cuda::testing_support
