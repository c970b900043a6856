// SPDX-License-Identifier: Apache-2.0
//
// Device memory, zeroed, that a kernel allocates when it is built. Its size depends on plans that
// libraries make only then, so it lies outside the memory block planned for the device, and the
// queue counts it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace regatta {
class Device;
}

namespace regatta::cuda {

class Queue;

/// Number of bytes of all scratch memory of a queue's kernels.
using HeldBytes = std::atomic<std::int64_t>;

class Scratch {
 public:
  Scratch() = default;
  /// Allocates memory that `queue` counts. Throws: RunError(Device) when memory is short.
  Scratch(const Queue& queue, std::int64_t bytes);
  /// Allocates memory that several queues use and no queue counts.
  Scratch(Device& device, std::int64_t bytes);

  template <typename T>
  T* as() const {
    return static_cast<T*>(memory_.get());
  }
  std::int64_t bytes() const { return memory_.get_deleter().bytes; }

 private:
  struct Release {
    Device* device;
    std::shared_ptr<HeldBytes> held;  ///< null: no queue counts it
    std::int64_t bytes;
    void operator()(void* memory) const;
  };

  std::unique_ptr<void, Release> memory_{nullptr, Release{nullptr, nullptr, 0}};
};

}  // namespace regatta::cuda
