// SPDX-License-Identifier: Apache-2.0
//
// Interns values: while an equal value is alive, hold() returns that one instead of a new copy.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace regatta {

/// A set of shared values. `kHash` must return equal hashes for equal values. Any thread may call
/// the methods at any time.
template <typename T, std::size_t (*kHash)(const T&)>
class Pool {
 public:
  std::shared_ptr<const T> hold(T value) {
    const std::size_t hash = kHash(value);
    const std::lock_guard lock(mutex_);
    const auto [first, last] = held_.equal_range(hash);
    for (auto each = first; each != last;) {
      std::shared_ptr<const T> held = each->second.lock();
      if (held && *held == value) return held;
      each = held ? std::next(each) : held_.erase(each);
    }
    if (held_.size() >= next_sweep_) sweep();
    // Allocated apart from its control block: weak pointers do not keep its memory.
    std::shared_ptr<const T> added(new T(std::move(value)));
    held_.emplace(hash, added);
    return added;
  }
  /// Number of entries, which may include values that are no longer alive.
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }

 private:
  /// Drops dead entries; runs when they may be as many as the live ones.
  void sweep() {
    std::erase_if(held_, [](const auto& each) { return each.second.expired(); });
    next_sweep_ = kLeast + 2 * held_.size();
  }

  static constexpr std::size_t kLeast = 256;

  mutable std::mutex mutex_;
  std::unordered_multimap<std::size_t, std::weak_ptr<const T>> held_;
  std::size_t next_sweep_ = kLeast;
};

}  // namespace regatta
