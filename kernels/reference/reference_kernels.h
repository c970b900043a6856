// SPDX-License-Identifier: Apache-2.0
//
// Slow, obvious loops, one for each op: the expected values in tests of other devices' kernels.
// They run on one thread and compute in f32, long sums in double; only cast, copy and read support
// bf16. The input op is in kernels/cpu.
#pragma once

#include "kernels/runtime/kernel.h"

namespace regatta::reference {

/// Adds a factory for every op that the reference computes.
void add_reference_kernels(KernelTable& table);

}  // namespace regatta::reference
