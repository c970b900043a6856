// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/peer_access.h"

#include "kernels/cuda/device/cuda_call.h"

namespace regatta::cuda {

std::map<int, std::vector<int>> enable_peer_access(std::span<const int> gpus,
                                                   const PeerCalls& calls) {
  std::map<int, std::vector<int>> readers;
  for (const int gpu : gpus) readers[gpu];
  for (const int reader : gpus) {
    for (const int owner : gpus) {
      if (reader == owner) continue;
      int can = 0;
      cuda_call(calls.device_can_access_peer(&can, reader, owner), "cudaDeviceCanAccessPeer");
      if (can == 0) continue;
      cuda_call(calls.set_device(reader), "cudaSetDevice");
      const cudaError_t status = calls.device_enable_peer_access(owner, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();  // otherwise the next launch would report it
      } else {
        cuda_call(status, "cudaDeviceEnablePeerAccess");
      }
      readers[owner].push_back(reader);
    }
  }
  return readers;
}

}  // namespace regatta::cuda
