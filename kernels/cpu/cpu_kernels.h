// SPDX-License-Identifier: Apache-2.0
//
// All ops on the CPU: oneDNN for convolutions and large products; our own loops for ops that are
// memory-bound or too small for a library call. Results are bitwise reproducible for a fixed number
// of threads. The ops that cross processes (send, receive, all_reduce) are in kernels/comm.
#pragma once

#include "kernels/runtime/kernel.h"

namespace regatta {

/// Adds a factory for every op that the CPU computes.
void add_cpu_kernels(KernelTable& table);

}  // namespace regatta
