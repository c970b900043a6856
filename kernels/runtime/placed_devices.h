// SPDX-License-Identifier: Apache-2.0
//
// Maps each place in a process to its device and kernel table: all places on one device, or each
// replica on a GPU and the host's place in host memory.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

/// A device and its kernel table. Both must outlive the objects built with them.
struct DeviceKernels {
  Device* device = nullptr;
  const KernelTable* kernels = nullptr;  ///< the kernels for `device`
};

class PlacedDevices {
 public:
  /// Maps a place to the index of its device in the constructor's `devices`.
  using Number = std::function<std::size_t(const Place&)>;

  /// Puts all places on one device. Implicit, so that callers with one device need no wrapper.
  PlacedDevices(const KernelTable& kernels, Device& device = cpu_device())
      : devices_{{.device = &device, .kernels = &kernels}},
        number_([](const Place&) { return std::size_t{0}; }) {}
  PlacedDevices(std::vector<DeviceKernels> devices, Number number)
      : devices_(std::move(devices)), number_(std::move(number)) {}

  Device& device(const Place& place) const { return *of(place).device; }
  const KernelTable& kernels(const Place& place) const { return *of(place).kernels; }

 private:
  const DeviceKernels& of(const Place& place) const { return devices_.at(number_(place)); }

  std::vector<DeviceKernels> devices_;
  Number number_;
};

}  // namespace regatta
