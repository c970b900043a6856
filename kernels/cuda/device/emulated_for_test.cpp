// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/emulated_for_test.h"

#include <cstring>
#include <utility>

#include "kernels/cuda/device/hidden_memory_for_test.h"
#include "kernels/runtime/capture/function_recording_for_test.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::cuda {

using testing_support::HiddenDevice;
using testing_support::HiddenMemory;

namespace testing_support {

EmulatedQueue::EmulatedQueue(HiddenDevice& device)
    : device_(device), values_(static_cast<StepValues*>(device.allocate(sizeof(StepValues)))) {}

EmulatedQueue::~EmulatedQueue() { device_.release(values_); }

Device& EmulatedQueue::device() const { return device_; }

void EmulatedQueue::set_step(const StepContext& context) {
  step_ = {.step = context.step,
           .examples = context.examples,
           .examples_before = context.examples_before};
}

void EmulatedQueue::load_step() {
  enqueue([this] { *values_ = step_; });
}

void EmulatedQueue::fetch(float* to, const float* value) {
  enqueue([=] { *to = *value; });
}

void EmulatedQueue::copy(void* to, const void* from, std::int64_t bytes) {
  enqueue([=] {  // either address may be in another GPU's memory
    const HiddenMemory::Opened source(HiddenMemory::of(from)), target(HiddenMemory::of(to));
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  });
}

void EmulatedQueue::enqueue(std::function<void()> work) {
  take([this, work = std::move(work)] {
    const HiddenMemory::Opened opened(&device_.memory());
    work();
  });
}

}  // namespace testing_support

namespace {

class EmulatedMark final : public QueueMark {
 public:
  explicit EmulatedMark(Queue& queue) : queue_(queue) {}
  void put() override {
    queue_.enqueue([this] { ticks_ = ticks(); });
  }
  double ns_since(const QueueMark& earlier) const override {
    const std::uint64_t span = ticks_ - dynamic_cast<const EmulatedMark&>(earlier).ticks_;
    return static_cast<double>(span) * ns_per_tick();
  }

 private:
  Queue& queue_;
  std::uint64_t ticks_ = 0;
};

/// Does work at once or, if it is recorded, when its step is launched.
class PromptQueue final : public testing_support::EmulatedQueue, public FunctionQueue {
 public:
  using EmulatedQueue::EmulatedQueue;
  void finish() override {}
  void record_into(FunctionRecording* recording, std::size_t number) override {
    recording_ = recording;
    number_ = number;
  }

 private:
  void take(std::function<void()> work) override {
    if (recording_ == nullptr) return work();
    recording_->add(number_, std::move(work));
  }

  FunctionRecording* recording_ = nullptr;
  std::size_t number_ = 0;  ///< the queue's number in the recording
};

class EmulatedGpu final : public HiddenDevice {
 public:
  std::unique_ptr<LaneQueue> make_queue() override { return std::make_unique<PromptQueue>(*this); }
  std::unique_ptr<StepRecorder> make_recorder() override { return make_function_recorder(); }
};

}  // namespace

std::unique_ptr<QueueMark> testing_support::EmulatedQueue::make_mark() {
  return std::make_unique<EmulatedMark>(*this);
}

std::unique_ptr<Device> make_emulated_device() { return std::make_unique<EmulatedGpu>(); }

}  // namespace regatta::cuda
