// SPDX-License-Identifier: Apache-2.0
//
// What every update does around its formula: touches elements in the manner of the parameter's
// sharing, then counts the update and how many others it missed since its parameter was read.
// Slots are touched like their parameter, under the parameter's locks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/relaxed.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {

/// An update that others interrupt is lost like an element's: two separate relaxed operations.
inline void touch_canary(VariableStorage& parameter) {
  const std::uint64_t seen = parameter.canary.load(std::memory_order_relaxed);
  parameter.canary.store(seen + 1, std::memory_order_relaxed);
}

template <typename Body>
void update_locked(VariableStorage& parameter, int parts, const Body& body) {
  const std::int64_t count = parameter.tensor.elements();
  const auto shards = static_cast<std::int64_t>(parameter.shards.size());
  parallel_parts(parts, [&](int part) {
    const Range mine = share(shards, parts, part);
    for (std::int64_t shard = mine.begin; shard < mine.end; ++shard) {
      const std::int64_t begin = shard * kShardElements;
      const std::lock_guard lock(parameter.shards[static_cast<std::size_t>(shard)]);
      body(Plain{}, begin, std::min(count, begin + kShardElements));
    }
  });
  parameter.canary.fetch_add(1, std::memory_order_relaxed);
}

/// body(access, begin, end) over all elements of the parameter; access is Plain or Relaxed.
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

/// True where each of many loops makes some of the steps, so that none of them counts all.
inline bool loops_step_apart(const VariableStorage& parameter) {
  return parameter.sharing == Sharing::Relaxed || parameter.sharing == Sharing::Locked;
}

/// Where the reader of the parameter left the version it saw; null where nothing reads it.
inline const SeenVersion* seen_version(const KernelRequest& request) {
  return request.versions_seen.empty() ? nullptr : request.versions_seen[0];
}

/// After update_elements(): counts the version and, for a gradient that was computed from version
/// `seen` (null: the update has none), its staleness.
inline void count_update(VariableStorage& parameter, const SeenVersion* seen,
                         LaneCounters* counters) {
  if (parameter.sharing == Sharing::None) return;
  const std::uint64_t previous = parameter.version.fetch_add(1, std::memory_order_acq_rel);
  if (seen != nullptr && counters != nullptr) counters->count_update(*seen, previous);
}

}  // namespace regatta::cpu
