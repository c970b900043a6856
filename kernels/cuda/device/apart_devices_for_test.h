// SPDX-License-Identifier: Apache-2.0
//
// For tests: emulated GPUs and a host with separate memories; only queues copy between them. The
// GPUs defer their work (late_device_for_test.h), so code that does not wait for a copy reads old
// data. Kernels are checked when they are built, because that is when they receive all their
// pointers.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "kernels/base/error.h"
#include "kernels/cuda/device/late_device_for_test.h"

namespace regatta::cuda::testing_support {

/// The host's memory, which keeps track of its allocations.
class ApartHost final : public Device {
 public:
  void* allocate(std::int64_t bytes) override {
    void* const memory = cpu_device().allocate(bytes);
    memory_[static_cast<const std::byte*>(memory)] = bytes;
    return memory;
  }
  void release(void* memory) noexcept override {
    memory_.erase(static_cast<const std::byte*>(memory));
    cpu_device().release(memory);
  }
  std::unique_ptr<LaneQueue> make_queue() override { return nullptr; }

  bool owns(const void* address) const {
    const auto* const byte = static_cast<const std::byte*>(address);
    auto behind = memory_.upper_bound(byte);
    return behind != memory_.begin() && byte < (--behind)->first + behind->second;
  }
  /// Returns the number of allocations that are not released.
  std::size_t allocations() const { return memory_.size(); }

 private:
  std::map<const std::byte*, std::int64_t> memory_;  ///< and their bytes
};

class ApartGpu final : public HiddenDevice {
 public:
  void make_current() override { current() = this; }
  std::unique_ptr<LaneQueue> make_queue() override {
    make_current();  // like CUDA, which allocates on the thread's current GPU
    return std::make_unique<ApartQueue>(*this);
  }
  bool owns(const void* address) { return memory().owns(address); }
  std::size_t allocations() { return memory().allocations(); }

  /// The device for which the calling thread builds kernels; null: none yet.
  static const Device*& current() {
    static thread_local const Device* device = nullptr;
    return device;
  }
  std::int64_t carried_bytes() const { return carried_bytes_; }
  /// Makes this GPU's queues fail when they copy out of its memory.
  void cut_way_out() { is_cut_ = true; }

 private:
  /// A queue for copies with exactly one end in this device's memory.
  class ApartQueue final : public LateQueue {
   public:
    explicit ApartQueue(ApartGpu& gpu) : LateQueue(gpu), gpu_(gpu) {}
    void copy(void* to, const void* from, std::int64_t bytes) override {
      if (gpu_.is_cut_ && gpu_.owns(from)) throw RunError(ErrorKind::Device, "the link is cut");
      EXPECT_NE(gpu_.owns(to), gpu_.owns(from));
      gpu_.carried_bytes_ += bytes;
      LateQueue::copy(to, from, bytes);
    }
    HostBuffer make_host_buffer(std::int64_t bytes) override {
      gpu_.make_current();
      return LateQueue::make_host_buffer(bytes);
    }

   private:
    ApartGpu& gpu_;
  };

  std::atomic<std::int64_t> carried_bytes_{0};
  std::atomic<bool> is_cut_{false};
};

/// Whether the device, an ApartHost or an ApartGpu, owns the address.
inline bool owns(Device& device, const void* address) {
  auto* const gpu = dynamic_cast<ApartGpu*>(&device);
  return gpu != nullptr ? gpu->owns(address) : dynamic_cast<ApartHost&>(device).owns(address);
}

/// Checks that each kernel of the table is built on the device of its place and uses only that
/// device's memory, unless a queue carries its input.
inline void keep_apart(KernelTable& table, std::function<Device&(const Place&)> device_of) {
  for (const OpInfo& info : all_ops()) {
    if (!table.has(info.op)) continue;
    table.add(info.op, [build = table.factory(info.op), device_of](const KernelRequest& request) {
      Device& device = device_of(request.node.place);
      const std::string what =
          std::string(to_string(request.node.op)) + " on " + to_string(request.node.place);
      const bool carried = request.node.op == Op::Copy && request.carrier != nullptr;
      for (const Tensor& input : request.inputs) {
        EXPECT_NE(owns(device, input.data), carried) << what;
      }
      for (const Tensor& output : request.outputs) EXPECT_TRUE(owns(device, output.data)) << what;
      for (const VariableStorage* variable : request.variables) {
        EXPECT_TRUE(owns(device, variable->tensor.data)) << what;
      }
      if (request.queue != nullptr) {
        EXPECT_EQ(ApartGpu::current(), &device) << what;
      }
      return build(request);
    });
  }
}

}  // namespace regatta::cuda::testing_support
