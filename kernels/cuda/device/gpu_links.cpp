// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/gpu_links.h"

#include "kernels/base/error.h"
#include "kernels/runtime/shared_library.h"

namespace regatta::cuda {
namespace {

struct NvmlDevice;  // opaque

/// Source: NVML API Reference; every function returns 0 for success. Its header is not part of the
/// toolkit's runtime packages.
struct Nvml {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device_by_bus)(const char*, NvmlDevice**) = nullptr;
  int (*pcie_generation)(NvmlDevice*, unsigned*) = nullptr;
  int (*pcie_width)(NvmlDevice*, unsigned*) = nullptr;
  int (*nvlink_state)(NvmlDevice*, unsigned, unsigned*) = nullptr;
};

constexpr unsigned kMostNvlinks = 18;  // Source: NVML_NVLINK_MAX_LINKS

Nvml load_nvml() {
  const SharedLibrary library({.soname = "libnvidia-ml.so.1", .package = "the NVIDIA driver"});
  Nvml nvml;
  library.find(nvml.init, "nvmlInit_v2");
  library.find(nvml.shutdown, "nvmlShutdown");
  library.find(nvml.device_by_bus, "nvmlDeviceGetHandleByPciBusId_v2");
  // The maximum of card and slot together: an idle card lowers its current values.
  library.find(nvml.pcie_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
  library.find(nvml.pcie_width, "nvmlDeviceGetMaxPcieLinkWidth");
  library.find(nvml.nvlink_state, "nvmlDeviceGetNvLinkState");
  return nvml;
}

std::string links_of(const Nvml& nvml, NvmlDevice* device) {
  std::string links;
  unsigned generation = 0;
  unsigned width = 0;
  if (nvml.pcie_generation(device, &generation) == 0 && nvml.pcie_width(device, &width) == 0) {
    links = "PCIe gen " + std::to_string(generation) + " x" + std::to_string(width);
  }
  unsigned nvlinks = 0;
  for (unsigned link = 0; link < kMostNvlinks; ++link) {
    unsigned active = 0;
    if (nvml.nvlink_state(device, link, &active) == 0) nvlinks += active;
  }
  if (nvlinks > 0) links += (links.empty() ? "" : ", ") + std::to_string(nvlinks) + " NVLinks";
  return links;
}

}  // namespace

std::string links_of(const char* bus) {
  try {
    const Nvml nvml = load_nvml();
    if (nvml.init() != 0) return {};
    NvmlDevice* device = nullptr;
    std::string links;
    if (nvml.device_by_bus(bus, &device) == 0) links = links_of(nvml, device);
    nvml.shutdown();
    return links;
  } catch (const RunError&) {  // a driver without NVML reports no links
    return {};
  }
}

}  // namespace regatta::cuda
