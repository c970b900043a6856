// SPDX-License-Identifier: Apache-2.0
//
// For tests: an emulated GPU whose queues do nothing before they are finished. Code that reads
// memory, sends it, or lets another queue proceed too early sees old data.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cuda/device/emulated_for_test.h"
#include "kernels/cuda/device/queue.h"
#include "kernels/runtime/device.h"

namespace regatta::cuda::testing_support {

class LateQueue : public Queue {
 public:
  void begin_step(const StepContext& context) override {
    EXPECT_TRUE(work_.empty()) << "the step before was not finished";
    values_ = {.step = context.step,
               .examples = context.examples,
               .examples_before = context.examples_before};
  }
  void fetch(const float* value) override {
    keep([this, value] { fetched_ = *value; });
  }
  float fetched() const override { return fetched_; }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    keep([=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
  }
  void finish() override {
    for (const auto& work : std::exchange(work_, {})) work();
  }
  std::unique_ptr<QueueMark> make_mark() override { return make_emulated_mark(*this); }
  bool keeps_work() const override { return true; }
  void keep(std::function<void()> work) override { work_.push_back(std::move(work)); }
  bool emulated() const override { return true; }
  CUstream_st* stream() const override { return nullptr; }
  const StepValues* values() const override { return &values_; }

 private:
  StepValues values_;
  float fetched_ = 0;
  std::vector<std::function<void()>> work_;
};

class LateGpu final : public Device {
 public:
  void* allocate(std::int64_t bytes) override { return cpu_device().allocate(bytes); }
  void release(void* memory) noexcept override { cpu_device().release(memory); }
  bool locks_by_words() const override { return true; }
  std::unique_ptr<LaneQueue> make_queue() override { return std::make_unique<LateQueue>(); }
};

}  // namespace regatta::cuda::testing_support
