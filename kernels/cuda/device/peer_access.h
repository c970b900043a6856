// SPDX-License-Identifier: Apache-2.0
//
// Enables direct access between the memories of a process' GPUs, over NVLink or PCIe, without the
// host. The hardware reports whether a GPU can reach another, for each pair and direction; access
// must be enabled once. Memory that other GPUs cannot reach is copied through the host
// (kernels/comm/in_process/in_process.h). Source: CUDA runtime API, peer device memory access.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <span>
#include <vector>

namespace regatta::cuda {

/// The CUDA runtime functions used here, named without the prefix `cuda`. Tests replace the table.
struct PeerCalls {
  cudaError_t (*device_can_access_peer)(int* can, int device, int peer) = cudaDeviceCanAccessPeer;
  cudaError_t (*set_device)(int device) = cudaSetDevice;
  cudaError_t (*device_enable_peer_access)(int peer, unsigned flags) = cudaDeviceEnablePeerAccess;
};

/// Enables direct access between the GPUs wherever the hardware allows it. Returns, for each GPU,
/// the other GPUs that can read its memory from now on. Access that was already enabled stays so.
/// Throws: RunError(Device).
std::map<int, std::vector<int>> enable_peer_access(std::span<const int> gpus,
                                                   const PeerCalls& calls = {});

}  // namespace regatta::cuda
