// SPDX-License-Identifier: Apache-2.0
//
// Keeps objects that take long to make and outlive their user: a stream that ends leaves them on
// the shelf for the next stream of the same GPU.
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
class Shelf {
 public:
  /// An object that was left for this GPU: one that suits, or else the one left first. Null if
  /// there is none.
  template <typename Suits>
  std::unique_ptr<T> take(int gpu, const Suits& suits) {
    const std::scoped_lock lock(mutex_);
    std::vector<std::unique_ptr<T>>& left = left_[gpu];
    if (left.empty()) return nullptr;
    auto found = std::find_if(left.begin(), left.end(),
                              [&](const std::unique_ptr<T>& one) { return suits(*one); });
    if (found == left.end()) found = left.begin();
    std::unique_ptr<T> taken = std::move(*found);
    left.erase(found);
    return taken;
  }

  void leave(int gpu, std::unique_ptr<T> one) {
    const std::scoped_lock lock(mutex_);
    left_[gpu].push_back(std::move(one));
  }

 private:
  std::mutex mutex_;
  std::map<int, std::vector<std::unique_ptr<T>>> left_;  ///< by GPU
};

}  // namespace regatta::cuda
