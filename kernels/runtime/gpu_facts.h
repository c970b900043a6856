// SPDX-License-Identifier: Apache-2.0
//
// Facts for --device cuda: the CUDA version of this build, and driver and GPUs of this machine.
// Defined by kernels/cuda, or by its stub in a build without CUDA.
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
  std::string links;       ///< `PCIe gen 5 x16, 18 NVLinks`; empty if the driver reports none
  std::vector<int> peers;  ///< other GPUs with memory that it can read directly
};

struct GpuFindings {
  std::string toolkit;         ///< CUDA version of this build; empty: built without CUDA
  std::string driver;          ///< newest CUDA version that the driver supports; empty: no driver
  std::vector<GpuFacts> gpus;  ///< usable ones
  std::string missing;         ///< why no GPU is usable, and a remedy, in one line; else empty
};

/// Looks for GPUs without starting one.
GpuFindings find_gpus();

/// A library that is loaded when it is first used.
struct GpuLibrary {
  std::string name;     ///< `cuDNN`
  std::string version;  ///< empty if it cannot be used
  std::string missing;  ///< why it cannot be used, and a remedy
  std::string package;  ///< Debian package, from NVIDIA's repository
};

/// Finds and loads cuBLASLt, cuDNN and NCCL, as far as installed.
std::vector<GpuLibrary> find_gpu_libraries();

}  // namespace regatta
