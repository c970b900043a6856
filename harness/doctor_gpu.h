// SPDX-License-Identifier: Apache-2.0
//
// The rows of `regatta doctor` about --device cuda: what the build has, the driver, each GPU with
// what it is connected by and whose memory it reads directly, and the libraries that are loaded
// when they are first used.
#pragma once

#include <vector>

#include "harness/doctor.h"
#include "harness/system/machine.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta {

/// `machine` tells of GPUs that cannot be used.
std::vector<Diagnosis> diagnose_gpus(const MachineFacts& machine, const GpuFindings& found,
                                     const std::vector<GpuLibrary>& libraries);

/// `NVIDIA H200, 151 GB, compute capability 9.0, PCIe gen 5 x16, 18 NVLinks`
std::string to_text(const GpuFacts& gpu);

}  // namespace regatta
