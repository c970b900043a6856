// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/memory.h"

#include "kernels/runtime/initialize.h"

namespace regatta {

Memory::Memory(const Graph& graph, const Plan& plan, std::uint64_t seed, Device& device)
    : graph_(graph), plan_(plan), device_(device), addresses_(plan_memory(graph, plan)) {
  const auto allocate = [&device](std::int64_t bytes) {
    return Buffer(device.allocate(bytes), Release{&device});
  };
  for (std::int64_t bytes : addresses_.arena_bytes) {
    arenas_.push_back(allocate(bytes));
    planned_bytes_ += bytes;
  }
  unshared_bytes_ = addresses_.sum_of_values;
  for (VariableId id = 0; id < static_cast<VariableId>(graph.variables().size()); ++id) {
    const Variable& variable = graph.variable(id);
    variable_buffers_.push_back(allocate(variable.type.bytes()));
    auto& storage = *variables_.emplace_back(make_on_device<VariableStorage>(device));
    storage.tensor = {.type = variable.type, .data = variable_buffers_.back().get()};
    storage.sharing = variable.sharing;
    add_locks(storage);
    initialize(graph, id, seed, storage.tensor.f32());
    planned_bytes_ += variable.type.bytes();
    unshared_bytes_ += variable.type.bytes();
  }
}

void Memory::add_locks(VariableStorage& storage) {
  if (storage.sharing != Sharing::Locked && storage.sharing != Sharing::Quorum) return;
  const std::int64_t shards = (storage.tensor.elements() + kShardElements - 1) / kShardElements;
  if (!device_.locks_by_words()) {
    storage.shards = std::vector<std::mutex>(static_cast<std::size_t>(shards));
    return;
  }
  const std::int64_t bytes = shards * static_cast<std::int64_t>(sizeof *storage.shard_words);
  shard_words_.push_back(Buffer(device_.allocate(bytes), Release{&device_}));
  storage.shard_words = static_cast<std::uint32_t*>(shard_words_.back().get());
}

void Memory::take_back_variables() {
  std::vector<Tensor> tensors;
  for (const auto& variable : variables_) tensors.push_back(variable->tensor);
  device_.take_back(tensors);
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
