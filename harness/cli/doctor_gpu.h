// SPDX-License-Identifier: Apache-2.0
//
// The rows of `regatta doctor` about --device cuda: the CUDA toolkit of the build, the driver, each
// GPU, and the libraries that are loaded on first use.
#pragma once

#include <vector>

#include "harness/cli/doctor.h"
#include "harness/system/machine.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta::cli {

/// The rows of the table about GPUs. `machine` lists GPUs even if this program cannot use them.
std::vector<Diagnosis> diagnose_gpus(const system::MachineFacts& machine, const GpuFindings& found,
                                     const std::vector<GpuLibrary>& libraries);

/// Formats a GPU as `NVIDIA H200, 151 GB, compute capability 9.0, PCIe gen 5 x16, 18 NVLinks`.
std::string to_text(const GpuFacts& gpu);

}  // namespace regatta::cli
