// SPDX-License-Identifier: Apache-2.0
//
// A GPU's links as reported by NVML, a library of the driver that is loaded at run time.
#pragma once

#include <string>

namespace regatta::cuda {

/// Returns the links of a GPU, such as `PCIe gen 5 x16, 18 NVLinks`; empty if NVML reports none.
/// `bus` is the GPU's PCI address.
std::string links_of(const char* bus);

}  // namespace regatta::cuda
