// SPDX-License-Identifier: Apache-2.0
//
// Products too small for a library call, in plain loops on one thread.
#pragma once

#include "kernels/cpu/factories.h"

namespace regatta::cpu {

/// Products of at most so many multiply-adds run in plain loops. Measured by BM_DenseThreshold.
inline constexpr std::int64_t kSmallProduct = 16384;

// As dense() and its backward ops; f32 only.
KernelPointer dense_small(const KernelRequest&);
KernelPointer dense_small_backward_data(const KernelRequest&);
KernelPointer dense_small_backward_weights(const KernelRequest&);

}  // namespace regatta::cpu
