// SPDX-License-Identifier: Apache-2.0
//
// What a GPU is connected by, as NVML tells, the library that comes with the driver. It is looked
// for at run time.
#pragma once

#include <string>

namespace regatta::cuda {

/// `PCIe gen 5 x16, 18 NVLinks`; empty where it cannot be told. `bus` is the GPU's on PCI.
std::string links_of(const char* bus);

}  // namespace regatta::cuda
