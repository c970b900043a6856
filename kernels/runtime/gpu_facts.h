// SPDX-License-Identifier: Apache-2.0
//
// What there is for --device cuda: in this build, and found on this machine when asked. Defined by
// kernels/cuda, or by what stands in for it in a build without CUDA.
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
  std::string links;       ///< `PCIe gen 5 x16, 18 NVLinks`; empty where the driver does not tell
  std::vector<int> peers;  ///< other GPUs whose memory it can read directly
};

struct GpuFindings {
  std::string toolkit;         ///< version of CUDA that it was built with; empty: it has none
  std::string driver;          ///< newest version of CUDA that the driver knows; empty: no driver
  std::vector<GpuFacts> gpus;  ///< that can be used
  std::string missing;         ///< why none can, in one line with what to do; empty where one can
};

/// Does not start a GPU.
GpuFindings find_gpus();

/// A library that is loaded when it is first used.
struct GpuLibrary {
  std::string name;     ///< `cuDNN`
  std::string version;  ///< empty where it cannot be used
  std::string missing;  ///< why it cannot, with what to do
  std::string package;  ///< of Debian, from NVIDIA's repository
};

/// cuBLASLt, cuDNN, NCCL; looks for each, which loads it.
std::vector<GpuLibrary> find_gpu_libraries();

}  // namespace regatta
