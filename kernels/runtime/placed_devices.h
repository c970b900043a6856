// SPDX-License-Identifier: Apache-2.0
//
// Which device of the process each place is on, and which kernels compute there: all places on one,
// or replicas on a GPU each and the host's place in the host's memory.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

/// Both outlive whatever was built with them.
struct DeviceKernels {
  Device* device = nullptr;
  const KernelTable* kernels = nullptr;  ///< for that device
};

class PlacedDevices {
 public:
  /// Numbers the device of a place.
  using Number = std::function<std::size_t(const Place&)>;

  /// All places on one. Implicit: what has one device says no more than that.
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
