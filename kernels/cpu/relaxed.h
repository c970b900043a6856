// SPDX-License-Identifier: Apache-2.0
//
// How elements of a variable are touched: plainly, where no other thread can or a lock is held, or
// with relaxed atomics (Hogwild), where a lost update is allowed and torn or invented values are
// not.
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
