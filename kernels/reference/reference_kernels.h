// SPDX-License-Identifier: Apache-2.0
//
// Slow, obvious loops, one for each op: the expected values for tests of other devices. One thread,
// f32, long sums in double. bf16 exists only in cast, copy and read. Input is in kernels/cpu.
#pragma once

#include "kernels/runtime/kernel.h"

namespace regatta {

/// Adds a factory for every op that the reference computes.
void add_reference_kernels(KernelTable& table);

}  // namespace regatta
