// SPDX-License-Identifier: Apache-2.0
//
// Which GPUs of a process reach each other's memory directly, over NVLink or PCIe, without the
// host: the hardware says so for each pair in each direction, and it has to be turned on once.
// What others cannot reach is copied through the host's memory
// (kernels/comm/in_process/in_process.h): by themselves they would have the driver move its pages,
// forth and back. Source: CUDA runtime API, peer device memory access; CUDA programming guide,
// unified memory.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <span>
#include <vector>

namespace regatta::cuda {

/// What we call of the CUDA runtime, named as there without its prefix. A test has its own table.
struct PeerCalls {
  cudaError_t (*device_can_access_peer)(int* can, int device, int peer) = cudaDeviceCanAccessPeer;
  cudaError_t (*set_device)(int device) = cudaSetDevice;
  cudaError_t (*device_enable_peer_access)(int peer, unsigned flags) = cudaDeviceEnablePeerAccess;
};

/// By GPU: those of the others that read its memory directly from now on. Where it was on already,
/// it stays so. Throws: RunError(Device).
std::map<int, std::vector<int>> enable_peer_access(std::span<const int> gpus,
                                                   const PeerCalls& calls = {});

}  // namespace regatta::cuda
