// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/emulated_for_test.h"

#include <cstring>
#include <utility>

#include "kernels/runtime/capture/function_recording_for_test.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::cuda {
namespace {

class EmulatedMark final : public QueueMark {
 public:
  explicit EmulatedMark(Queue& queue) : queue_(queue) {}
  void put() override {
    if (queue_.keeps_work()) return queue_.keep([this] { ticks_ = ticks(); });
    ticks_ = ticks();
  }
  double ns_since(const QueueMark& earlier) const override {
    const std::uint64_t span = ticks_ - dynamic_cast<const EmulatedMark&>(earlier).ticks_;
    return static_cast<double>(span) * ns_per_tick();
  }

 private:
  Queue& queue_;
  std::uint64_t ticks_ = 0;
};

class EmulatedQueue final : public Queue, public FunctionQueue {
 public:
  void begin_step(const StepContext& context) override {
    values_ = {.step = context.step,
               .examples = context.examples,
               .examples_before = context.examples_before};
  }
  void fetch(const float* value) override {
    if (recording_ != nullptr) return keep([this, value] { fetched_ = *value; });
    fetched_ = *value;
  }
  float fetched() const override { return fetched_; }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    const auto work = [=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); };
    if (keeps_work()) return keep(work);
    work();
  }
  void finish() override {}
  std::unique_ptr<QueueMark> make_mark() override { return make_emulated_mark(*this); }
  void record_into(FunctionRecording* recording, std::size_t number) override {
    recording_ = recording;
    number_ = number;
  }
  bool keeps_work() const override { return recording_ != nullptr; }
  void keep(std::function<void()> work) override { recording_->add(number_, std::move(work)); }
  bool emulated() const override { return true; }
  CUstream_st* stream() const override { return nullptr; }
  const StepValues* values() const override { return &values_; }

 private:
  StepValues values_;
  float fetched_ = 0;
  FunctionRecording* recording_ = nullptr;
  std::size_t number_ = 0;  ///< in it
};

class EmulatedGpu final : public Device {
 public:
  void* allocate(std::int64_t bytes) override { return cpu_device().allocate(bytes); }
  void release(void* memory) noexcept override { cpu_device().release(memory); }
  bool locks_by_words() const override { return true; }
  std::unique_ptr<LaneQueue> make_queue() override { return make_emulated_queue(); }
  std::unique_ptr<StepRecorder> make_recorder() override { return make_function_recorder(); }
};

}  // namespace

std::unique_ptr<Device> make_emulated_device() { return std::make_unique<EmulatedGpu>(); }
std::unique_ptr<Queue> make_emulated_queue() { return std::make_unique<EmulatedQueue>(); }
std::unique_ptr<QueueMark> make_emulated_mark(Queue& queue) {
  return std::make_unique<EmulatedMark>(queue);
}

}  // namespace regatta::cuda
