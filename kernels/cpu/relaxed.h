// SPDX-License-Identifier: Apache-2.0
//
// Access to elements of a variable. Plain is for elements that no other thread can access, or whose
// lock this thread holds. Relaxed uses relaxed atomics (Hogwild): updates may be lost, but every
// value read was written by some thread; no compiler makes vectors of them, and clang warns where
// `omp simd` asks for them.
#pragma once

#include <atomic>

namespace regatta::cpu {

struct Plain {
  static constexpr bool kVectors = true;
  static float load(const float* element) { return *element; }
  static void store(float* element, float value) { *element = value; }
};

struct Relaxed {
  static constexpr bool kVectors = false;
  static float load(float* element) {
    return std::atomic_ref<float>(*element).load(std::memory_order_relaxed);
  }
  static void store(float* element, float value) {
    std::atomic_ref<float>(*element).store(value, std::memory_order_relaxed);
  }
};

}  // namespace regatta::cpu
