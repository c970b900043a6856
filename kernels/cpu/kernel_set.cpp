// SPDX-License-Identifier: Apache-2.0
//
// In a build for one instruction set: the CPU's kernels are those of this library.
#include "kernels/runtime/devices.h"

namespace regatta {

namespace cpu {
void add_kernels(KernelTable& table);  // in cpu_kernels.cpp
}  // namespace cpu

void add_cpu_kernels(KernelTable& table) { cpu::add_kernels(table); }

std::string chosen_cpu_kernels() { return {}; }

}  // namespace regatta
