// SPDX-License-Identifier: Apache-2.0
//
// The two implementations of dense: plain loops in f32 on one thread for products too small for a
// library call; oneDNN for all others.
#pragma once

#include "kernels/runtime/kernel.h"

namespace regatta::cpu {

/// Largest number of multiply-adds for which a product runs in plain loops. Measured on 1 thread
/// (Sapphire Rapids, oneDNN 2.6.3): a call of oneDNN takes at least 310 to 440 ns; loops take 40 to
/// 100 ns for 250 multiply-adds, 190 to 260 for 2,560, 500 to 630 for 4,096.
inline constexpr std::int64_t kSmallProduct = 2048;

// dense_small.cpp
KernelPointer dense_small(const KernelRequest&);
KernelPointer dense_small_backward_data(const KernelRequest&);
KernelPointer dense_small_backward_weights(const KernelRequest&);

// dense_large.cpp
KernelPointer dense_large(const KernelRequest&);
KernelPointer dense_large_backward_data(const KernelRequest&);
KernelPointer dense_large_backward_weights(const KernelRequest&);

}  // namespace regatta::cpu
