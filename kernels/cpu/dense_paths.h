// SPDX-License-Identifier: Apache-2.0
//
// The implementations of dense: plain loops in f32 on one thread for products too small for a
// library call; own panels for backward weights where oneDNN is slow; oneDNN for all others.
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

/// Backward weights without AVX-512: oneDNN copies dy and x slowly where their rows are a multiple
/// of this many elements apart, so that they share few sets of a cache. Products by AVX2 on a Zen 4
/// (oneDNN 2.6.3, 1 thread; batch, inputs -> outputs), in GFLOP/s of oneDNN and of panels:
/// 768, 128 -> 512: 86 and 100; 768, 512 -> 128: 77 and 102; 4096, 256 -> 1024: 45 and 89;
/// 4096, 1024 -> 256: 50 and 96; but 768, 128 -> 128: 103 and 100; 4096, 256 -> 768: 97 and 92.
inline constexpr std::int64_t kSlowStride = 512;

// dense_panels.cpp
KernelPointer dense_panels_backward_weights(const KernelRequest&);

// dense_large.cpp
KernelPointer dense_large(const KernelRequest&);
KernelPointer dense_large_backward_data(const KernelRequest&);
KernelPointer dense_large_backward_weights(const KernelRequest&);

}  // namespace regatta::cpu
