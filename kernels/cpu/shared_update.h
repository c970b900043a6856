// SPDX-License-Identifier: Apache-2.0
//
// Code that all updates share: accesses elements as the parameter's sharing requires, then counts
// the update and its gradient's staleness, the number of versions that it missed since the
// parameter was read. Slots are accessed like their parameter, under the parameter's locks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/relaxed.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {

/// Increments the canary, a counter from whose missing increments lost updates are estimated: its
/// relaxed load and store lose concurrent increments as often as an element loses updates.
inline void touch_canary(VariableStorage& parameter) {
  const std::atomic_ref<std::uint64_t> canary(parameter.counts->canary);
  canary.store(canary.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// Calls body(begin, end) for each shard of a variable, under the shard's lock.
template <typename Body>
void for_each_shard(VariableStorage& variable, int parts, const Body& body) {
  const std::int64_t count = variable.tensor.elements();
  const auto shards = static_cast<std::int64_t>(variable.shards.size());
  parallel_parts(parts, [&](int part) {
    const Range mine = share(shards, parts, part);
    for (std::int64_t shard = mine.begin; shard < mine.end; ++shard) {
      const std::int64_t begin = shard * kShardElements;
      const std::lock_guard lock(variable.shards[static_cast<std::size_t>(shard)]);
      body(begin, std::min(count, begin + kShardElements));
    }
  });
}

template <typename Body>
void update_locked(VariableStorage& parameter, int parts, const Body& body) {
  for_each_shard(parameter, parts, [&](auto begin, auto end) { body(Plain{}, begin, end); });
  std::atomic_ref<std::uint64_t>(parameter.counts->canary).fetch_add(1, std::memory_order_relaxed);
}

/// Calls body(access, begin, end) over all elements of the parameter; access is Plain or Relaxed.
template <typename Body>
void update_elements(VariableStorage& parameter, int parts, const Body& body) {
  const std::int64_t count = parameter.tensor.elements();
  switch (parameter.sharing) {
    case Sharing::None:
      parallel_ranges(parts, count, [&](auto begin, auto end) { body(Plain{}, begin, end); });
      return;
    case Sharing::Relaxed: {
      const std::int64_t middle = count / 2;
      parallel_ranges(parts, middle, [&](auto begin, auto end) { body(Relaxed{}, begin, end); });
      touch_canary(parameter);
      parallel_ranges(parts, count - middle,
                      [&](auto begin, auto end) { body(Relaxed{}, middle + begin, middle + end); });
      return;
    }
    case Sharing::Locked:
    case Sharing::Quorum: update_locked(parameter, parts, body); return;
  }
}

/// Calls body(access, begin, end) over all elements of a parameter's slot, before its update.
template <typename Body>
void access_slot(VariableStorage& parameter, int parts, const Body& body) {
  const std::int64_t count = parameter.tensor.elements();
  const auto plainly = [&](auto begin, auto end) { body(Plain{}, begin, end); };
  switch (parameter.sharing) {
    case Sharing::None: parallel_ranges(parts, count, plainly); return;
    case Sharing::Relaxed:
      parallel_ranges(parts, count, [&](auto begin, auto end) { body(Relaxed{}, begin, end); });
      return;
    case Sharing::Locked:
    case Sharing::Quorum: for_each_shard(parameter, parts, plainly); return;
  }
}

/// Whether several loops update the parameter, each at its own pace, so that no loop's step number
/// is the number of updates.
inline bool loops_step_apart(const VariableStorage& parameter) {
  return parameter.sharing == Sharing::Relaxed || parameter.sharing == Sharing::Locked;
}

/// Returns the number of finished updates of a shared variable.
inline std::uint64_t updates_of(const VariableStorage& variable, std::memory_order order) {
  return std::atomic_ref<std::uint64_t>(variable.counts->version).load(order);
}

/// Returns the number of a shared variable's finished averages with other replicas.
inline std::uint64_t averages_of(const VariableStorage& variable, std::memory_order order) {
  return std::atomic_ref<std::uint64_t>(variable.counts->averages).load(order);
}

/// Returns the number of updates and averages of a shared variable.
inline std::uint64_t version_of(const VariableStorage& variable, std::memory_order order) {
  return updates_of(variable, order) + averages_of(variable, order);
}

/// Returns where the node that reads the parameter notes the version it reads; null if no node
/// reads the parameter.
inline SeenVersion* seen_version(const KernelRequest& request) {
  return request.versions_seen.empty() ? nullptr : request.versions_seen[0];
}

/// Increments the parameter's version and counts the staleness of a gradient computed from version
/// `seen` (null: the update has no gradient). Call it after update_elements().
inline void count_update(VariableStorage& parameter, const SeenVersion* seen,
                         LaneCounters* counters) {
  if (parameter.sharing == Sharing::None) return;
  const std::uint64_t previous = std::atomic_ref<std::uint64_t>(parameter.counts->version)
                                     .fetch_add(1, std::memory_order_acq_rel);
  if (seen == nullptr || counters == nullptr) return;
  counters->count_update(*seen, previous + averages_of(parameter, std::memory_order_relaxed));
}

}  // namespace regatta::cpu
