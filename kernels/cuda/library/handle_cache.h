// SPDX-License-Identifier: Apache-2.0
//
// Keeps objects that take long to make beyond the life of their user: a stream that ends releases
// its objects to the cache, and the next stream of the same GPU acquires them.
// Threads: any.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace regatta::cuda {

template <typename T>
class HandleCache {
 public:
  /// Takes an object for `gpu` out of the cache: the first for which suits(object) is true, or else
  /// the one that was released first. Null if the cache has none for this GPU.
  template <typename Suits>
  std::unique_ptr<T> acquire(int gpu, const Suits& suits) {
    const std::scoped_lock lock(mutex_);
    std::vector<std::unique_ptr<T>>& released = released_[gpu];
    if (released.empty()) return nullptr;
    auto found = std::find_if(released.begin(), released.end(),
                              [&](const std::unique_ptr<T>& one) { return suits(*one); });
    if (found == released.end()) found = released.begin();
    std::unique_ptr<T> taken = std::move(*found);
    released.erase(found);
    return taken;
  }

  void release(int gpu, std::unique_ptr<T> one) {
    const std::scoped_lock lock(mutex_);
    released_[gpu].push_back(std::move(one));
  }

 private:
  std::mutex mutex_;
  std::map<int, std::vector<std::unique_ptr<T>>> released_;  ///< [gpu], oldest first
};

}  // namespace regatta::cuda
