// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_call.h"

#include <string>

#include "kernels/graph/error.h"

namespace regatta::cuda {
namespace {

std::string_view what_to_do(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "; the GPU's memory is full: use a smaller batch or fewer workers, or end what else "
             "runs on it (nvidia-smi)";
    case cudaErrorInsufficientDriver:
      return "; there is no NVIDIA driver, or one too old for this build: install a newer one "
             "(nvidia-smi names the one at hand), or use --device cpu";
    case cudaErrorNoDevice:
      return "; there is a driver but no GPU that it may use: look at nvidia-smi and at "
             "CUDA_VISIBLE_DEVICES, or use --device cpu";
    case cudaErrorNoKernelImageForDevice:
      return "; this build has no code for this GPU: build with its compute capability in "
             "REGATTA_CUDA_ARCHITECTURES";
    case cudaErrorIllegalAddress:
    case cudaErrorAssert:
    case cudaErrorLaunchFailure:
      return "; a kernel of a step failed: run ci/gpu sanitize, which names it";
    default: return "";
  }
}

}  // namespace

void cuda_call(cudaError_t status, std::string_view call, std::source_location where) {
  if (status == cudaSuccess) return;
  throw RunError(ErrorKind::Device, std::string(call) + " at " + where.file_name() + ":" +
                                        std::to_string(where.line()) + ": " +
                                        cudaGetErrorString(status) +
                                        std::string(what_to_do(status)));
}

}  // namespace regatta::cuda
