// SPDX-License-Identifier: Apache-2.0
//
// For tests: a description of a GPU, so that cuDNN makes plans for it on a machine without one.
#pragma once

#include "kernels/cuda/library/cudnn_graph.h"

namespace regatta::cuda::testing_support {

/// The properties of an H100 SXM, in the library's own format.
inline constexpr const char* kH100 =
    R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,)"
    R"("multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,)"
    R"("maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,)"
    R"("maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,)"
    R"("maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,)"
    R"("totalGlobalMem":85024112640,"smClockRateKHz":1980000,"memClockRateKHz":2619000,)"
    R"("l2CacheSize":52428800,"cudaDeviceId":0,"deviceVer":900,"driverVer":13000,)"
    R"("deviceName":"NVIDIA H100 80GB HBM3"})";

inline Descriptor h100() {
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.set_text(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, kH100);
  properties.finalize();
  return properties;
}

}  // namespace regatta::cuda::testing_support
