// SPDX-License-Identifier: Apache-2.0
//
// An object in a device's memory: the host makes and destroys it, kernels use it in between.
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "kernels/runtime/device.h"

namespace regatta {

template <typename T>
struct ReleaseOnDevice {
  Device* device = nullptr;
  void operator()(T* object) const {
    object->~T();
    device->release(object);
  }
};

template <typename T>
using OnDevice = std::unique_ptr<T, ReleaseOnDevice<T>>;

/// The device must outlive the object. Throws: RunError when memory is short.
template <typename T>
OnDevice<T> make_on_device(Device& device) {
  void* const memory = device.allocate(static_cast<std::int64_t>(sizeof(T)));
  return OnDevice<T>(new (memory) T, ReleaseOnDevice<T>{&device});
}

}  // namespace regatta
