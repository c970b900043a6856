// SPDX-License-Identifier: Apache-2.0
//
// Every op on the CPU: oneDNN for convolutions and large products, own loops for what is bound by
// memory or too small for a library call. Results are the same bits in every run with the same
// number of threads. What crosses processes (send, receive, all_reduce) is kernels/comm's.
#pragma once

#include "kernels/runtime/kernel.h"

namespace regatta {

/// Adds a factory for every op that the CPU computes.
void add_cpu_kernels(KernelTable& table);

}  // namespace regatta
