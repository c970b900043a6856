// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/room.h"

#include <string>

#include "kernels/base/error.h"
#include "kernels/cuda/device/cuda_call.h"

namespace regatta::cuda {
namespace {

/// Bytes of the GPU's memory that must stay free: for contexts, stacks and libraries.
constexpr std::size_t kReserveBytes = std::size_t{256} << 20;

}  // namespace

void check_room(std::size_t bytes) {
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  cuda_call(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
  if (bytes + kReserveBytes <= free_bytes) return;
  throw RunError(
      ErrorKind::Device,
      "the GPU's memory is full: " + std::to_string(bytes >> 20) + " MiB wanted, " +
          std::to_string(free_bytes >> 20) + " of " + std::to_string(all_bytes >> 20) +
          " MiB free; fix: use a smaller batch or fewer workers, or end what else runs on "
          "it (nvidia-smi)");
}

}  // namespace regatta::cuda
