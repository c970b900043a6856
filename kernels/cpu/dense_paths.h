// SPDX-License-Identifier: Apache-2.0
//
// The implementations of dense: plain loops in f32 on one thread for products too small for a
// library call; own panels for wide backward weights by AVX2; oneDNN for all others.
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

/// Least number of inputs and of outputs for which panels compute backward weights without AVX-512.
/// Products by AVX2 on a Zen 3 (oneDNN 2.6.3, 1 thread; batch, inputs -> outputs), in GFLOP/s of
/// oneDNN and of panels: 768, 128 -> 128: 80 and 89; 768, 128 -> 512: 67 and 87; 4096, 256 -> 768:
/// 71 and 85; 4096, 256 -> 1024: 40 and 84, because oneDNN copies slowly where rows share few sets
/// of a cache; but 768, 128 -> 65: 93 and 79; 4096, 256 -> 65: 90 and 68.
inline constexpr std::int64_t kPanelWidth = 128;

// dense_panels.cpp
KernelPointer dense_panels_backward_weights(const KernelRequest&);

// dense_large.cpp
KernelPointer dense_large(const KernelRequest&);
KernelPointer dense_large_backward_data(const KernelRequest&);
KernelPointer dense_large_backward_weights(const KernelRequest&);

}  // namespace regatta::cpu
