// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/cuda_call.h"

#include <array>
#include <atomic>

#include "kernels/runtime/shared_library.h"

namespace regatta::cuda {
namespace {

std::string_view what_to_do(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "; the GPU's memory is full; fix: use a smaller batch or fewer workers, or end what "
             "else "
             "runs on it (nvidia-smi)";
    case cudaErrorNoKernelImageForDevice:
      return "; this build has no code for this GPU; fix: build with its compute capability in "
             "REGATTA_CUDA_ARCHITECTURES";
    case cudaErrorIllegalAddress:
    case cudaErrorAssert:
    case cudaErrorLaunchFailure:
      return "; a kernel of a step failed; fix: run ci/gpu memcheck, which names it";
    default: return "";
  }
}

std::atomic<bool> abandoned{false};

}  // namespace

void cuda_call(cudaError_t status, std::string_view call, std::source_location where) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // otherwise the next launch would report it
  call_failed(call, cudaGetErrorString(status) + std::string(what_to_do(status)), where);
}

std::string bus_address(int device) {
  std::array<char, 32> address{};
  cuda_call(cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), device),
            "cudaDeviceGetPCIBusId");
  return address.data();
}

void abandon_gpu() { abandoned.store(true); }
bool is_gpu_abandoned() { return abandoned.load(); }

void free_on_gpu(void* memory) noexcept {
  if (!is_gpu_abandoned()) cudaFree(memory);
}

}  // namespace regatta::cuda
