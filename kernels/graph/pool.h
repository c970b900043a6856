// SPDX-License-Identifier: Apache-2.0
//
// Values that are alike, held once: as long as anybody holds one, the next gets the same.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace regatta {

/// `kHash` is alike for values that are. Threads: any.
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
    // By itself, so that no memory of it stays for those who no longer hold it.
    std::shared_ptr<const T> added(new T(std::move(value)));
    held_.emplace(hash, added);
    return added;
  }
  /// Also counts some that are no longer held.
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }

 private:
  /// Forgets what is no longer held, when there may be as much of it as of the rest.
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
