// SPDX-License-Identifier: Apache-2.0
//
// Stub of this folder in a build without CUDA: requests for a GPU throw an error that says so.
#include "kernels/base/error.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta {
namespace {

constexpr char kMissing[] =
    "this build has no CUDA: put nvcc on PATH and build again with -D REGATTA_CUDA=ON, or use "
    "--device cpu";

}  // namespace

void add_cuda_kernels(KernelTable&, EngineRule) {}

std::unique_ptr<Device> make_cuda_device(int) { throw RunError(ErrorKind::Unsupported, kMissing); }

std::unique_ptr<Device> make_pinned_host() { throw RunError(ErrorKind::Unsupported, kMissing); }

GpuFindings find_gpus() { return {.toolkit = {}, .driver = {}, .gpus = {}, .missing = kMissing}; }

std::vector<GpuLibrary> find_gpu_libraries() { return {}; }

}  // namespace regatta
