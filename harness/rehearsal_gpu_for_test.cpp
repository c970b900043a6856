// SPDX-License-Identifier: Apache-2.0
//
// For `ci/gpu --rehearse`: one emulated GPU in place of this machine's. A program that links this
// file has --device cuda without a GPU; its records name the emulated one.
#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/device/emulated_for_test.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta {
namespace {

/// The memory that an emulated GPU copies to and from: the host's.
class HostMemory final : public Device {
 public:
  void* allocate(std::int64_t bytes) override { return cpu_device().allocate(bytes); }
  void release(void* memory) noexcept override { cpu_device().release(memory); }
  std::unique_ptr<LaneQueue> make_queue() override { return nullptr; }
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(int) { return cuda::make_emulated_device(); }

std::vector<std::unique_ptr<Device>> make_cuda_devices(std::span<const int> devices) {
  std::vector<std::unique_ptr<Device>> made;
  for (const int device : devices) made.push_back(make_cuda_device(device));
  return made;
}

std::unique_ptr<Device> make_pinned_host() { return std::make_unique<HostMemory>(); }

GpuFindings find_gpus() {
  return {.toolkit = "13.0",
          .driver = "emulated",
          .gpus = {{.name = "emulated GPU of a rehearsal",
                    .memory_bytes = std::int64_t{1} << 36,
                    .capability = "9.0",
                    .links = {},
                    .peers = {}}},
          .missing = {}};
}

std::vector<GpuLibrary> find_gpu_libraries() { return {}; }

}  // namespace regatta
