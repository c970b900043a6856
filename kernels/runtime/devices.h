// SPDX-License-Identifier: Apache-2.0
//
// One function a device, defined by that device's library: what is linked is what can be used.
#pragma once

#include "kernels/runtime/kernel.h"

namespace regatta {

/// kernels/cpu: every op that computes.
void add_cpu_kernels(KernelTable& table);

/// kernels/reference: slow obvious loops, the truth for tests.
void add_reference_kernels(KernelTable& table);

}  // namespace regatta
