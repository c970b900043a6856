// SPDX-License-Identifier: Apache-2.0
//
// Memory of the device that one kernel allocates when it is built, zeroed.
#pragma once

#include <cstdint>
#include <memory>

namespace regatta {
class Device;
}

namespace regatta::cuda {

class Queue;

class Scratch {
 public:
  Scratch() = default;
  /// Throws: RunError(Device) when memory is short.
  Scratch(const Queue& queue, std::int64_t bytes);

  template <typename T>
  T* as() const {
    return static_cast<T*>(memory_.get());
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  struct Release {
    Device* device;
    void operator()(void* memory) const;
  };

  std::unique_ptr<void, Release> memory_{nullptr, Release{nullptr}};
  std::int64_t bytes_ = 0;
};

}  // namespace regatta::cuda
