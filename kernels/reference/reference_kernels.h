// SPDX-License-Identifier: Apache-2.0
//
// Slow obvious loops, one per op: the truth that tests compare other devices with. One thread, f32,
// long sums in double. bf16 exists in cast, copy and read only. Input has no entry (kernels/cpu).
#pragma once

#include "kernels/runtime/kernel.h"

namespace regatta {

/// Adds a factory for every op that the reference computes.
void add_reference_kernels(KernelTable& table);

}  // namespace regatta
