// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kernels/base/error.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta {
namespace {

class CpuDevice final : public Device {
 public:
  void* allocate(std::int64_t bytes) override {
    const std::size_t size =
        (static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)) + 63) / 64 * 64;
    void* memory = std::aligned_alloc(64, size);
    if (memory == nullptr) {
      throw RunError(ErrorKind::Unsupported,
                     "out of memory: could not set " + std::to_string(size) +
                         " bytes aside; fix: use a smaller batch or fewer workers");
    }
    std::memset(memory, 0, size);
    return memory;
  }
  void release(void* memory) noexcept override { std::free(memory); }
  std::unique_ptr<LaneQueue> make_queue() override { return nullptr; }
};

class FinishingMark final : public QueueMark {
 public:
  explicit FinishingMark(LaneQueue& queue) : queue_(queue) {}
  void put() override {
    queue_.finish();
    ticks_ = ticks();
  }
  double ns_since(const QueueMark& earlier) const override {
    const std::uint64_t span = ticks_ - dynamic_cast<const FinishingMark&>(earlier).ticks_;
    return static_cast<double>(span) * ns_per_tick();
  }

 private:
  LaneQueue& queue_;
  std::uint64_t ticks_ = 0;
};

}  // namespace

void Device::read(void* host, const void* memory, std::int64_t bytes) {
  std::memcpy(host, memory, static_cast<std::size_t>(bytes));
}

void Device::write(void* memory, const void* host, std::int64_t bytes) {
  std::memcpy(memory, host, static_cast<std::size_t>(bytes));
}

HostBuffer Device::make_host_buffer(std::int64_t bytes) {
  return {static_cast<std::byte*>(cpu_device().allocate(bytes)),
          [](void* memory) { cpu_device().release(memory); }};
}

HostBuffer LaneQueue::make_host_buffer(std::int64_t bytes) {
  return {static_cast<std::byte*>(cpu_device().allocate(bytes)),
          [](void* memory) { cpu_device().release(memory); }};
}

float* LaneQueue::make_room(std::int64_t numbers) {
  room_ = make_host_buffer(numbers * std::int64_t{sizeof(float)});
  return reinterpret_cast<float*>(room_->get());
}

std::unique_ptr<QueueMark> LaneQueue::make_mark() { return std::make_unique<FinishingMark>(*this); }

Device& cpu_device() {
  static CpuDevice device;
  return device;
}

}  // namespace regatta
