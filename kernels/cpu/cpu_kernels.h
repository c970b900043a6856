// SPDX-License-Identifier: Apache-2.0
//
// All ops on the CPU: oneDNN for convolutions and large products; our own loops for ops that are
// memory-bound or too small for a library call. The same number of threads gives the same bits in
// every run. kernels/comm has the ops that cross processes (send, receive, all_reduce).
#pragma once

#include "kernels/runtime/kernel.h"

namespace regatta {

/// Adds a factory for every op that the CPU computes.
void add_cpu_kernels(KernelTable& table);

}  // namespace regatta
