// SPDX-License-Identifier: Apache-2.0
//
// Tests on a device with kernels that do nothing until their lane's queue is finished. Runs match
// the CPU bit for bit only if no result is read earlier.
#include "kernels/runtime/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/runtime/test_support.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using testing_support::curve;
using testing_support::parabola;
using testing_support::shapes;
using testing_support::Trial;
using testing_support::TrialOptions;

constexpr std::int64_t kNoStep = -1;
constexpr std::chrono::microseconds kLate{100};

/// Keeps work until finish(), and logs the calls.
class LateQueue final : public LaneQueue {
 public:
  explicit LateQueue(std::int64_t breaks_at) : breaks_at_(breaks_at) {}

  void set_step(const StepContext& context) override {
    EXPECT_TRUE(work_.empty()) << "the step before was not finished";
    step_ = context.step;
    calls_.push_back("set_step " + std::to_string(step_));
  }
  void put(std::function<void()> work) {
    if (calls_.back() != "put") calls_.emplace_back("put");
    work_.push_back(std::move(work));
  }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    put([=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
  }
  void finish() override {
    calls_.emplace_back("finish");
    if (step_ == breaks_at_) throw RunError(ErrorKind::Device, "the late device is on fire");
    std::this_thread::sleep_for(kLate);  // a reader that does not wait sees old values
    for (const auto& work : work_) work();
    work_.clear();
  }
  const std::vector<std::string>& calls() const { return calls_; }

 private:
  std::int64_t breaks_at_;
  std::int64_t step_ = kNoStep;
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

class LateKernel final : public Kernel {
 public:
  LateKernel(std::unique_ptr<Kernel> kernel, LaneQueue* queue)
      : kernel_(std::move(kernel)), queue_(dynamic_cast<LateQueue&>(*queue)) {}
  void run(const StepContext& context) override {
    queue_.put([this, context] { kernel_->run(context); });
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  LateQueue& queue_;
};

/// Runs a step with late CPU kernels; communication happens at once.
class LateRun {
 public:
  LateRun(const Step& step, const DataSet& data, const TrialOptions& run, Device& device)
      : examples_(run.steps * step.global_batch) {
    KernelTable at_once("cpu");
    add_cpu_kernels(at_once);
    for (const OpInfo& info : all_ops()) {
      if (!at_once.has(info.op)) continue;
      kernels_.add(info.op, [build = at_once.factory(info.op)](const KernelRequest& request) {
        return std::make_unique<LateKernel>(build(request), request.queue);
      });
    }
    transport_.add_kernels(kernels_);
    part_ = strategies::partitioned(
                strategies::apply(strategies::find_strategies(run.strategy), step, run.options),
                Binding{})
                .front();
    executor_ = std::make_unique<Executor>(part_, PlacedDevices(kernels_, device),
                                           testing_support::executor_options(data, run, examples_));
  }
  void run() { executor_->run(examples_); }
  Executor& executor() { return *executor_; }
  std::vector<float> losses() const { return executor_->loops().at(0).losses; }
  std::map<std::string, std::vector<float>> parameters() {
    std::map<std::string, std::vector<float>> all;
    testing_support::add_parameters(*executor_, all);
    return all;
  }

 private:
  std::int64_t examples_;
  KernelTable kernels_{"late"};
  comm::InProcessTransport transport_;
  Step part_;
  std::unique_ptr<Executor> executor_;
};

TEST(Device, StepsBeginBeforeTheirWorkAndEndFinished) {
  TrialOptions options;
  options.steps = 2;
  LateDevice device;
  LateRun run(parabola(2), curve(), options, device);
  run.run();
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
    LateRun late(parabola(20), curve(), options, device);
    late.run();
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
    LateRun late(testing_support::thin(64, 2), shapes(), options, device);
    late.run();
    EXPECT_EQ(late.losses(), on_cpu.losses()) << strategy;
    EXPECT_EQ(late.parameters(), on_cpu.parameters()) << strategy;
  }
}

TEST(Device, AFailureOfTheDeviceEndsTheRunWithItsWords) {
  TrialOptions options;
  options.strategy = "all_reduce";
  options.options.replicas = 2;
  LateDevice device(3);
  LateRun run(parabola(20), curve(), options, device);
  try {
    run.run();
    FAIL() << "a failure of the device went unnoticed";
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Device);
    const std::string text = error.what();
    EXPECT_EQ(text.find("step 3 on replica"), 0U) << text;
    EXPECT_NE(text.find("the late device is on fire"), std::string::npos) << text;
  }
}

TEST(Device, DivergenceIsExplainedFromFinishedWork) {
  DataSet broken = curve();
  broken.targets.as<float>()[7] = 3e38F;  // its square is not finite
  LateDevice device;
  LateRun run(parabola(20), broken, {}, device);
  try {
    run.run();
    FAIL() << "a loss that is not finite went unnoticed";
  } catch (const RunError& error) {
    EXPECT_EQ(std::string(error.what()),
              "the loss is not finite at step 0 on replica0; the first tensor that is not finite: "
              "the output of mean_squared_error in layer loss");
  }
}

TEST(Device, HasItsVariablesReadOnceAfterStepsAndWrittenWhenTheHostSaysSo) {
  TrialOptions options;
  options.steps = 2;
  LateDevice device;
  LateRun run(parabola(2), curve(), options, device);
  EXPECT_EQ(device.writes(), 1) << "the initial values of all variables together";
  const int before = device.reads();
  Executor& executor = run.executor();
  const Tensor weights = executor.variable(0).tensor;
  EXPECT_EQ(device.reads(), before) << "nothing has changed";
  const float initial = *weights.f32();
  run.run();
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
    LateRun run(parabola(1), curve(), {}, device);
    EXPECT_EQ(device.held(), 1) << "one block, laid out by the plan";
  }
  EXPECT_EQ(device.held(), 0);
}

}  // namespace
}  // namespace regatta
