// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/load_kernels.h"

#include <vector>

#include "kernels/cuda/device/cuda_call.h"

namespace regatta::cuda {
namespace {

std::vector<const void*>& kernels() {
  static std::vector<const void*> all;
  return all;
}

}  // namespace

bool note_kernel(const void* kernel) {
  kernels().push_back(kernel);
  return true;
}

std::size_t noted_kernels() { return kernels().size(); }

void load_kernels() {
  for (const void* kernel : kernels()) {
    cudaFuncAttributes attributes{};
    cuda_call(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  }
}

}  // namespace regatta::cuda
