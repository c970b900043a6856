// SPDX-License-Identifier: Apache-2.0
//
// Tests that run on the emulated queue everywhere, and on a GPU if there is one; otherwise the GPU
// test is skipped with the reason.
//   class Name : public OnDevices {};
//   INSTANTIATE_TEST_SUITE_P(On, Name, kDevices, name_of_device);
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/device/emulated_for_test.h"
#include "kernels/cuda/device/queue.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta::cuda::testing_support {

enum class On { Emulated, Gpu };
inline const auto kDevices = testing::Values(On::Emulated, On::Gpu);
inline std::string name_of_device(const testing::TestParamInfo<On>& info) {
  return info.param == On::Gpu ? "gpu" : "emulated";
}

/// Relative tolerance for f32 values of a training of small sums, compared with the host's. A GPU's
/// tanh and exp err by an ulp or two more.
inline double bound_of_small_sums(On on) { return on == On::Gpu ? 1e-4 : 1e-5; }

/// Makes `device`, or skips the test with the reason why there is none.
inline void make_device(On on, std::unique_ptr<Device>& device) {
  if (on == On::Emulated) {
    device = make_emulated_device();
  } else if (const GpuFindings found = find_gpus(); found.missing.empty()) {
    device = make_cuda_device(0);
  } else {
    GTEST_SKIP() << found.missing;
  }
}

class OnDevices : public testing::TestWithParam<On> {
 protected:
  void SetUp() override {
    make_device(GetParam(), device_);
    if (device_ == nullptr) return;
    queue_ = device_->make_queue();
  }
  void TearDown() override {
    queue_.reset();
    for (void* memory : memory_) device_->release(memory);
  }

  Device& device() { return *device_; }
  Queue& queue() { return dynamic_cast<Queue&>(*queue_); }
  /// Zeroed memory of the device, freed when the test ends.
  template <typename T>
  T* allocate(std::int64_t count) {
    memory_.push_back(device_->allocate(count * static_cast<std::int64_t>(sizeof(T))));
    return static_cast<T*>(memory_.back());
  }
  template <typename T>
  std::vector<T> read(const T* memory, std::int64_t count) {
    std::vector<T> elements(static_cast<std::size_t>(count));
    device_->read(elements.data(), memory, count * static_cast<std::int64_t>(sizeof(T)));
    return elements;
  }
  template <typename T>
  T* upload(const std::vector<T>& elements) {
    T* const memory = allocate<T>(std::ssize(elements));
    device_->write(memory, elements.data(), std::ssize(elements) * std::int64_t{sizeof(T)});
    return memory;
  }

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<LaneQueue> queue_;
  std::vector<void*> memory_;
};

}  // namespace regatta::cuda::testing_support
