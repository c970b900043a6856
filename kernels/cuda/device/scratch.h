// SPDX-License-Identifier: Apache-2.0
//
// Memory that one kernel allocates when it is built: on the GPU of its queue, or on the host for an
// emulated queue. Not initialised.
#pragma once

#include <cstdint>
#include <memory>

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
  using Release = void (*)(void*);

  std::unique_ptr<void, Release> memory_{nullptr, [](void*) {}};
  std::int64_t bytes_ = 0;
};

}  // namespace regatta::cuda
