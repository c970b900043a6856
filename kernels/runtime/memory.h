// SPDX-License-Identifier: Apache-2.0
//
// The memory of a graph: one arena for each lane, laid out by the memory plan, and one buffer for
// each variable, in the memory of their places' devices.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/on_device.h"
#include "kernels/runtime/placed_devices.h"
#include "kernels/runtime/plan.h"

namespace regatta {

class Memory {
 public:
  /// Allocates everything and initialises the variables. The arguments outlive the object.
  Memory(const Graph& graph, const Plan& plan, std::uint64_t seed, const PlacedDevices& devices);

  Tensor tensor(Value value) const;
  /// The device whose memory holds a value, a variable, or the values of a place.
  Device& device_of(Value value) const;
  Device& device_of(VariableId id) const { return device_of(graph_.variable(id).place); }
  Device& device_of(const Place& place) const { return devices_.device(place); }
  VariableStorage& variable(VariableId id) { return *variables_[static_cast<std::size_t>(id)]; }
  /// Moves variables back to their devices after the host has read or written them. Called while no
  /// lane runs.
  void return_variables();
  std::int64_t planned_bytes() const { return planned_bytes_; }
  std::int64_t unshared_bytes() const { return unshared_bytes_; }

 private:
  void add_locks(VariableStorage& storage, Device& device);

  struct Release {
    Device* device;
    void operator()(void* memory) const { device->release(memory); }
  };
  using Buffer = std::unique_ptr<void, Release>;

  const Graph& graph_;
  const Plan& plan_;
  const PlacedDevices& devices_;
  MemoryPlan addresses_;
  std::vector<Buffer> arenas_;
  std::vector<Buffer> variable_buffers_;
  std::vector<OnDevice<VariableStorage>> variables_;
  std::vector<Buffer> shard_words_;
  std::int64_t planned_bytes_ = 0;
  std::int64_t unshared_bytes_ = 0;
};

}  // namespace regatta
