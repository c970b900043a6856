// SPDX-License-Identifier: Apache-2.0
//
// Tests on a device with kernels that do nothing until their lane's queue is finished. Runs match
// the CPU bit for bit only if no result is read earlier.
#include "kernels/runtime/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "kernels/base/error_for_test.h"
#include "kernels/runtime/deferred_for_test.h"
#include "kernels/runtime/test_support.h"
#include "strategies/equivalence_for_test.h"

namespace regatta {
namespace {

using namespace testing_support;

constexpr std::int64_t kNoStep = -1;
constexpr std::chrono::microseconds kLate{100};

/// Keeps work until finish(), and logs the calls.
class LateQueue final : public testing_support::DeferringQueue {
 public:
  explicit LateQueue(std::int64_t breaks_at) : breaks_at_(breaks_at) {}

  void set_step(const StepContext& context) override {
    EXPECT_TRUE(work_.empty()) << "the step before was not finished";
    DeferringQueue::set_step(context);
    calls_.push_back("set_step " + std::to_string(context.step));
  }
  void finish() override {
    calls_.emplace_back("finish");
    if (context().step == breaks_at_) throw RunError(ErrorKind::Device, "the device is on fire");
    std::this_thread::sleep_for(kLate);  // a reader that does not wait sees old values
    for (const auto& work : work_) work();
    work_.clear();
  }
  const std::vector<std::string>& calls() const { return calls_; }

 private:
  void start(std::function<void()> work) override {
    if (calls_.back() != "put") calls_.emplace_back("put");
    work_.push_back(std::move(work));
  }

  std::int64_t breaks_at_;
  std::vector<std::function<void()>> work_;
  std::vector<std::string> calls_;
};

/// The CPU's memory and late queues. Counts memory that is not released.
class LateDevice final : public Device {
 public:
  explicit LateDevice(std::int64_t breaks_at = kNoStep - 1) : breaks_at_(breaks_at) {}

  void* allocate(std::int64_t bytes) override {
    ++held_;
    return cpu_device().allocate(bytes);
  }
  void release(void* memory) noexcept override {
    --held_;
    cpu_device().release(memory);
  }
  std::unique_ptr<LaneQueue> make_queue() override {
    auto queue = std::make_unique<LateQueue>(breaks_at_);
    queues_.push_back(queue.get());
    return queue;
  }
  void read(void* host, const void* memory, std::int64_t bytes) override {
    ++reads_;
    Device::read(host, memory, bytes);
  }
  void write(void* memory, const void* host, std::int64_t bytes) override {
    ++writes_;
    Device::write(memory, host, bytes);
  }
  bool has_queues() const override { return true; }
  int held() const { return held_; }
  int reads() const { return reads_; }
  int writes() const { return writes_; }
  const std::vector<LateQueue*>& queues() const { return queues_; }

 private:
  std::int64_t breaks_at_;
  int held_ = 0;
  int reads_ = 0;
  int writes_ = 0;
  std::vector<LateQueue*> queues_;
};

/// A trial with the CPU's kernels on the device; communication happens at once.
TrialOptions on(LateDevice& device, TrialOptions options = {}) {
  options.device = &device;
  options.add_kernels = [](KernelTable& kernels) {
    add_cpu_kernels(kernels);
    testing_support::defer_kernels(kernels);
  };
  return options;
}

/// Runs a trial that fails.
std::string failure_of(const Step& step, const DataSet& data, const TrialOptions& options) {
  return regatta::testing_support::error_of([&] { Trial(step, data, options); });
}

TEST(Device, StepsBeginBeforeTheirWorkAndEndFinished) {
  TrialOptions options;
  options.steps = 2;
  LateDevice device;
  const Trial run(parabola(2), curve(), on(device, options));
  ASSERT_EQ(device.queues().size(), 1U);
  const std::vector<std::string>& calls = device.queues()[0]->calls();
  EXPECT_EQ(calls.front(), "set_step 0");
  EXPECT_EQ(calls.back(), "finish");
  for (std::size_t i = 1; i < calls.size(); ++i) {
    const bool ends = calls[i - 1] == "finish";
    const bool begins = calls[i] == "set_step 1";
    EXPECT_TRUE(!begins || ends) << "call " << i;
    EXPECT_TRUE(calls[i] != "finish" || calls[i - 1] == "put") << "call " << i;
  }
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "set_step 1"), 1);
}

TEST(Device, LossesAndOtherLanesSeeFinishedWorkOnly) {
  for (const char* strategy : {"single", "all_reduce", "in_graph", "central_storage"}) {
    TrialOptions options;
    options.strategy = strategy;
    options.options.replicas = options.strategy == "single" ? 1 : 2;
    options.steps = 20;
    Trial on_cpu(parabola(20), curve(), options);
    LateDevice device;
    Trial late(parabola(20), curve(), on(device, options));
    EXPECT_EQ(late.losses(), on_cpu.losses()) << strategy;
    EXPECT_EQ(late.parameters(), on_cpu.parameters()) << strategy;
  }
}

/// Large buckets have a communication lane of their own, and stages hand over activations.
TEST(Device, LanesOfOneDeviceSeeFinishedWorkOnly) {
  for (const char* strategy : {"all_reduce", "model_parallel"}) {
    TrialOptions options;
    options.strategy = strategy;
    options.options.replicas = 2;
    options.options.stages = 2;
    options.steps = 2;
    Trial on_cpu(testing_support::thin(64, 2), shapes(), options);
    LateDevice device;
    Trial late(testing_support::thin(64, 2), shapes(), on(device, options));
    EXPECT_EQ(late.losses(), on_cpu.losses()) << strategy;
    EXPECT_EQ(late.parameters(), on_cpu.parameters()) << strategy;
  }
}

TEST(Device, AFailureOfTheDeviceEndsTheRunWithItsWords) {
  TrialOptions options = trial_of("all_reduce 2");
  LateDevice device(3);
  const std::string text = failure_of(parabola(20), curve(), on(device, options));
  EXPECT_EQ(text.find("step 3 on replica"), 0U) << text;
  EXPECT_NE(text.find("the device is on fire"), std::string::npos) << text;
}

TEST(Device, DivergenceIsExplainedFromFinishedWork) {
  DataSet broken = curve();
  broken.targets.as<float>()[7] = 3e38F;  // its square is not finite
  LateDevice device;
  EXPECT_EQ(failure_of(parabola(20), broken, on(device)),
            "the loss is not finite at step 0 on replica0; the first tensor that is not finite: "
            "the output of mean_squared_error in layer loss");
}

TEST(Device, HasItsVariablesReadOnceAfterStepsAndWrittenWhenTheHostSaysSo) {
  TrialOptions options;
  options.steps = 0;
  options.most_steps = 2;
  LateDevice device;
  Trial run(parabola(2), curve(), on(device, options));
  EXPECT_EQ(device.writes(), 1) << "the initial values of all variables together";
  Executor& executor = run.executor();
  const float initial = *executor.variable(0).tensor.f32();
  const int before = device.reads();
  EXPECT_EQ(*executor.variable(0).tensor.f32(), initial);
  EXPECT_EQ(device.reads(), before) << "nothing has changed";
  executor.run(2 * 50);
  const float trained = *executor.variable(0).tensor.f32();
  EXPECT_NE(trained, initial);
  EXPECT_EQ(executor.variable(1).tensor.type, executor.step().graph.variable(1).type);
  EXPECT_EQ(device.reads(), before + 1);
  *executor.variable(0).tensor.f32() = 42;
  executor.write_variables();
  EXPECT_EQ(device.writes(), 2);
}

TEST(Device, GetsAllItsMemoryBack) {
  LateDevice device;
  {
    const Trial run(parabola(20), curve(), on(device));
    EXPECT_EQ(device.held(), 1) << "one block, laid out by the plan";
  }
  EXPECT_EQ(device.held(), 0);
}

}  // namespace
}  // namespace regatta
