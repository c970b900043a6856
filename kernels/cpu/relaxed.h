// SPDX-License-Identifier: Apache-2.0
//
// Access to elements of a variable: plain, if no other thread can access them or a lock is held; or
// by relaxed atomics (Hogwild), which may lose updates but read only values that were written.
#pragma once

#include <atomic>

namespace regatta::cpu {

struct Plain {
  static float load(const float* element) { return *element; }
  static void store(float* element, float value) { *element = value; }
};

struct Relaxed {
  static float load(float* element) {
    return std::atomic_ref<float>(*element).load(std::memory_order_relaxed);
  }
  static void store(float* element, float value) {
    std::atomic_ref<float>(*element).store(value, std::memory_order_relaxed);
  }
};

}  // namespace regatta::cpu
