// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/memory.h"

#include <cstddef>
#include <map>

#include "kernels/runtime/initialize.h"

namespace regatta {

Memory::Memory(const Graph& graph, const Plan& plan, std::uint64_t seed,
               const PlacedDevices& devices)
    : graph_(graph), plan_(plan), devices_(devices), addresses_(plan_memory(graph, plan)) {
  const auto allocate = [](Device& device, std::int64_t bytes) {
    return Buffer(device.allocate(bytes), Release{&device});
  };
  for (std::size_t lane = 0; lane < addresses_.arena_bytes.size(); ++lane) {
    const std::int64_t bytes = addresses_.arena_bytes[lane];
    arenas_.push_back(allocate(devices.device(plan.lanes()[lane].place), bytes));
    planned_bytes_ += bytes;
  }
  unshared_bytes_ = addresses_.sum_of_values;
  for (VariableId id = 0; id < static_cast<VariableId>(graph.variables().size()); ++id) {
    const Variable& variable = graph.variable(id);
    Device& device = device_of(id);
    variable_buffers_.push_back(allocate(device, variable.type.bytes()));
    auto& storage = *variables_.emplace_back(make_on_device<VariableStorage>(device));
    storage.tensor = {.type = variable.type, .data = variable_buffers_.back().get()};
    storage.sharing = variable.sharing;
    add_locks(storage, device);
    initialize(graph, id, seed, storage.tensor.f32());
    planned_bytes_ += variable.type.bytes();
    unshared_bytes_ += variable.type.bytes();
  }
}

void Memory::add_locks(VariableStorage& storage, Device& device) {
  if (storage.sharing != Sharing::Locked && storage.sharing != Sharing::Quorum) return;
  const std::int64_t shards = (storage.tensor.elements() + kShardElements - 1) / kShardElements;
  if (!device.locks_by_words()) {
    storage.shards = std::vector<std::mutex>(static_cast<std::size_t>(shards));
    return;
  }
  const std::int64_t bytes = shards * static_cast<std::int64_t>(sizeof *storage.shard_words);
  shard_words_.push_back(Buffer(device.allocate(bytes), Release{&device}));
  storage.shard_words = static_cast<std::uint32_t*>(shard_words_.back().get());
}

void Memory::return_variables() {
  std::map<Device*, std::vector<Tensor>> tensors;
  for (VariableId id = 0; id < static_cast<VariableId>(variables_.size()); ++id) {
    tensors[&device_of(id)].push_back(variable(id).tensor);
  }
  for (const auto& [device, its_own] : tensors) device->take_back(its_own);
}

Device& Memory::device_of(Value value) const {
  const Storage& storage = plan_.storage(value);
  if (storage.variable >= 0) return device_of(storage.variable);
  const int lane = addresses_.addresses.at(storage.owner).lane;
  return devices_.device(plan_.lanes()[static_cast<std::size_t>(lane)].place);
}

Tensor Memory::tensor(Value value) const {
  const Storage& storage = plan_.storage(value);
  char* base = nullptr;
  if (storage.variable >= 0) {
    base = variables_[static_cast<std::size_t>(storage.variable)]->tensor.as<char>();
  } else {
    const auto& address = addresses_.addresses.at(storage.owner);
    base =
        static_cast<char*>(arenas_[static_cast<std::size_t>(address.lane)].get()) + address.offset;
  }
  return {.type = graph_.type(value), .data = base + storage.offset_bytes};
}

}  // namespace regatta
