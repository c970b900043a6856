// SPDX-License-Identifier: Apache-2.0
//
// Facts about GPUs for --device cuda: the CUDA version of this build, and this machine's driver and
// GPUs. Defined in kernels/cuda, or in its stub in a build without CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace regatta {

/// A GPU as its driver describes it.
struct GpuFacts {
  std::string name;
  std::int64_t memory_bytes = 0;
  std::string capability;  ///< compute capability, `9.0`
};

struct GpuFindings {
  std::string toolkit;         ///< CUDA version of this build; empty: built without CUDA
  std::string driver;          ///< newest CUDA version that the driver supports; empty: no driver
  std::vector<GpuFacts> gpus;  ///< the usable GPUs
  std::string missing;         ///< one line: why no GPU is usable, and a remedy; empty if one is
};

/// Looks for GPUs without starting one.
GpuFindings find_gpus();

/// A GPU library that is loaded at run time, and whether this machine has it.
struct GpuLibrary {
  std::string name;     ///< `cuDNN`
  std::string version;  ///< empty if it cannot be used
  std::string missing;  ///< why it cannot be used, and a remedy
  std::string package;  ///< Debian package, from NVIDIA's repository
};

/// Tries to load cuBLASLt, cuDNN and NCCL. Returns one entry for each.
std::vector<GpuLibrary> find_gpu_libraries();

}  // namespace regatta
