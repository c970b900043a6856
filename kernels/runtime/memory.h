// SPDX-License-Identifier: Apache-2.0
//
// The memory of a graph's values and variables: one block on each device, laid out before it is
// allocated.
//   block: variables and the counts of shared ones | locks | versions seen by loops | counts of
//          lanes' queues | arenas of lanes, by the memory plan (memory_plan.h)
// If the host cannot access a block, it keeps a copy (mirror) of the block's variables and counts.
// Threads: used only from the thread that owns the executor, while no lane runs. Kernels use the
// pointers that they are built with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/capture/queued_counts.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/placed_devices.h"
#include "kernels/runtime/plan.h"

namespace regatta {

/// A variable in host memory: the variable's own memory or its mirror.
struct HostVariable {
  Tensor tensor;
  VersionCounts* counts = nullptr;  ///< null if loops do not share the variable
};

class Memory {
 public:
  /// Allocates all blocks and initialises the variables. `graph`, `plan` and `devices` must outlive
  /// this object.
  /// Throws: RunError when memory is short.
  Memory(const Graph& graph, const Plan& plan, std::uint64_t seed, const PlacedDevices& devices);

  Tensor tensor(Value value) const;
  /// Returns the device whose memory holds the value, the variable, or the values of the place.
  Device& device_of(Value value) const;
  Device& device_of(VariableId id) const { return device_of(graph_.variable(id).place); }
  Device& device_of(const Place& place) const { return devices_.device(place); }
  VariableStorage& variable(VariableId id) { return *variables_[static_cast<std::size_t>(id)]; }
  /// Returns where the loop notes which version of the shared variable it has read.
  SeenVersion* seen(int loop, VariableId id) const;
  /// Returns the counts of the lane's queue; null if the lane has no queue.
  QueuedCounts* queued_counts(std::size_t lane) const;

  /// Returns the variable with its current value: updates the mirror if lanes have run since the
  /// last update.
  HostVariable host_variable(VariableId id);
  /// Marks all mirrors as out of date. Called before lanes run.
  void expire_mirrors();
  /// Copies the caller's changes of host_variable()'s memory to the devices.
  void write_variables();

  /// Returns the bytes of the variables and values of each place.
  std::map<Place, MemoryUse> planned() const { return planned_memory(graph_, plan_, addresses_); }
  std::int64_t unshared_bytes() const { return unshared_bytes_; }

 private:
  struct Release {
    Device* device;
    void operator()(void* memory) const { device->release(memory); }
  };

  /// The memory of one device.
  struct Block {
    std::int64_t bytes = 0;     ///< laid out so far
    std::int64_t mirrored = 0;  ///< size of the part that is mirrored, which comes first
    std::unique_ptr<void, Release> memory{nullptr, Release{nullptr}};
    std::optional<HostBuffer> mirror;  ///< none if the host reaches the memory
    bool is_mirror_fresh = false;
  };

  /// An object in a block.
  struct Spot {
    Device* device = nullptr;
    std::int64_t offset = 0;
  };

  Spot lay_out(Device& device, std::int64_t bytes);
  void lay_out_variables();
  void lay_out_lanes();
  void allocate();
  void initialize_variables(std::uint64_t seed);
  template <typename T>
  T* at(const Spot& spot) const;

  const Graph& graph_;
  const Plan& plan_;
  const PlacedDevices& devices_;
  MemoryPlan addresses_;
  std::map<Device*, Block> blocks_;
  std::vector<Spot> tensors_;  ///< by variable
  std::map<VariableId, Spot> counts_;
  std::map<VariableId, Spot> locks_;
  std::map<std::pair<int, VariableId>, Spot> seen_;
  std::vector<Spot> arenas_;                  ///< by lane
  std::map<std::size_t, Spot> queue_counts_;  ///< by lane
  std::vector<std::unique_ptr<VariableStorage>> variables_;
  std::int64_t unshared_bytes_ = 0;
};

}  // namespace regatta
