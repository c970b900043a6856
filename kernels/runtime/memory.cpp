// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/memory.h"

#include "kernels/runtime/initialize.h"

namespace regatta {
namespace {

/// Alignment of all objects in a block: two cache lines of a CPU, a segment of CUDA's allocations.
constexpr std::int64_t kBlockAlignment = 256;

std::int64_t rounded_up(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

/// The number of shards that loops lock one by one; 0 if loops do not lock the variable.
std::int64_t shards_of(const Variable& variable) {
  const bool locks = variable.sharing == Sharing::Locked || variable.sharing == Sharing::Quorum;
  return locks ? (variable.type.elements() + kShardElements - 1) / kShardElements : 0;
}

}  // namespace

Memory::Memory(const Graph& graph, const Plan& plan, std::uint64_t seed,
               const PlacedDevices& devices)
    : graph_(graph), plan_(plan), devices_(devices), addresses_(plan_memory(graph, plan)) {
  lay_out_variables();
  lay_out_lanes();
  allocate();
  initialize_variables(seed);
}

Memory::Spot Memory::lay_out(Device& device, std::int64_t bytes) {
  Block& block = blocks_[&device];
  const Spot spot{.device = &device, .offset = block.bytes};
  block.bytes += rounded_up(bytes, kBlockAlignment);
  return spot;
}

/// Lays out mirrored objects before all others.
void Memory::lay_out_variables() {
  std::vector<VariableId> shared;
  for (VariableId id = 0; id < static_cast<VariableId>(graph_.variables().size()); ++id) {
    const Variable& variable = graph_.variable(id);
    const std::int64_t bytes = variable.type.bytes();
    unshared_bytes_ += bytes;
    if (variable.sharing == Sharing::None) {
      tensors_.push_back(lay_out(device_of(id), bytes));
      continue;
    }
    // Counts come right behind: a CPU fetches neighbouring lines together.
    const std::int64_t behind = rounded_up(bytes, alignof(VersionCounts));
    Spot spot = lay_out(device_of(id), behind + std::int64_t{sizeof(VersionCounts)});
    tensors_.push_back(spot);
    spot.offset += behind;
    counts_[id] = spot;
    shared.push_back(id);
  }
  for (auto& [device, block] : blocks_) block.mirrored = block.bytes;
  for (const VariableId id : shared) {
    const std::int64_t shards = shards_of(graph_.variable(id));
    if (shards > 0 && device_of(id).has_queues()) {
      locks_[id] =
          lay_out(device_of(id), shards * static_cast<std::int64_t>(sizeof(std::uint32_t)));
    }
    for (int loop = 0; loop < plan_.loop_count(); ++loop) {
      seen_[{loop, id}] = lay_out(device_of(id), sizeof(SeenVersion));
    }
  }
}

void Memory::lay_out_lanes() {
  unshared_bytes_ += addresses_.sum_of_values;
  for (std::size_t lane = 0; lane < addresses_.arena_bytes.size(); ++lane) {
    Device& device = device_of(plan_.lanes()[lane].place);
    if (device.has_queues()) queue_counts_[lane] = lay_out(device, sizeof(QueuedCounts));
  }
  for (std::size_t lane = 0; lane < addresses_.arena_bytes.size(); ++lane) {
    Device& device = device_of(plan_.lanes()[lane].place);
    arenas_.push_back(lay_out(device, addresses_.arena_bytes[lane]));
  }
}

void Memory::allocate() {
  for (auto& [device, block] : blocks_) {
    block.memory = {device->allocate(block.bytes), Release{device}};
    if (device->has_queues() && block.mirrored > 0) {
      block.mirror = device->make_host_buffer(block.mirrored);
    }
  }
}

void Memory::initialize_variables(std::uint64_t seed) {
  for (auto& [device, block] : blocks_) {
    if (block.mirror) device->read(block.mirror->get(), block.memory.get(), block.mirrored);
    block.is_mirror_fresh = true;
  }
  for (VariableId id = 0; id < static_cast<VariableId>(graph_.variables().size()); ++id) {
    const Variable& variable = graph_.variable(id);
    VariableStorage& storage = *variables_.emplace_back(std::make_unique<VariableStorage>());
    storage.tensor = {.type = variable.type,
                      .data = at<void>(tensors_[static_cast<std::size_t>(id)])};
    storage.sharing = variable.sharing;
    if (counts_.contains(id)) storage.counts = at<VersionCounts>(counts_.at(id));
    if (locks_.contains(id)) {
      storage.shard_words = at<std::uint32_t>(locks_.at(id));
    } else {
      storage.shards = std::vector<std::mutex>(static_cast<std::size_t>(shards_of(variable)));
    }
    initialize(graph_, id, seed, host_variable(id).tensor.f32());
  }
  write_variables();
}

template <typename T>
T* Memory::at(const Spot& spot) const {
  auto* const base = static_cast<std::byte*>(blocks_.at(spot.device).memory.get());
  return reinterpret_cast<T*>(base + spot.offset);
}

SeenVersion* Memory::seen(int loop, VariableId id) const {
  return at<SeenVersion>(seen_.at({loop, id}));
}

QueuedCounts* Memory::queued_counts(std::size_t lane) const {
  const auto found = queue_counts_.find(lane);
  return found == queue_counts_.end() ? nullptr : at<QueuedCounts>(found->second);
}

HostVariable Memory::host_variable(VariableId id) {
  const Spot& spot = tensors_[static_cast<std::size_t>(id)];
  Block& block = blocks_.at(spot.device);
  if (!block.is_mirror_fresh) {
    spot.device->read(block.mirror->get(), block.memory.get(), block.mirrored);
    block.is_mirror_fresh = true;
  }
  std::byte* const base =
      block.mirror ? block.mirror->get() : static_cast<std::byte*>(block.memory.get());
  const auto counts = counts_.find(id);
  return {.tensor = {.type = graph_.variable(id).type, .data = base + spot.offset},
          .counts = counts == counts_.end()
                        ? nullptr
                        : reinterpret_cast<VersionCounts*>(base + counts->second.offset)};
}

void Memory::expire_mirrors() {
  for (auto& [device, block] : blocks_) block.is_mirror_fresh = !block.mirror;
}

void Memory::write_variables() {
  for (auto& [device, block] : blocks_) {
    if (!block.mirror || !block.is_mirror_fresh) continue;
    device->write(block.memory.get(), block.mirror->get(), block.mirrored);
  }
}

Device& Memory::device_of(Value value) const {
  const Storage& storage = plan_.storage(value);
  if (storage.variable >= 0) return device_of(storage.variable);
  const int lane = addresses_.addresses.at(storage.owner).lane;
  return devices_.device(plan_.lanes()[static_cast<std::size_t>(lane)].place);
}

Tensor Memory::tensor(Value value) const {
  const Storage& storage = plan_.storage(value);
  std::byte* base = nullptr;
  if (storage.variable >= 0) {
    base = at<std::byte>(tensors_[static_cast<std::size_t>(storage.variable)]);
  } else {
    const auto& address = addresses_.addresses.at(storage.owner);
    base = at<std::byte>(arenas_[static_cast<std::size_t>(address.lane)]) + address.offset;
  }
  return {.type = graph_.type(value), .data = base + storage.offset_bytes};
}

}  // namespace regatta
