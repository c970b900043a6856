// SPDX-License-Identifier: Apache-2.0
//
// Several bodies of one kind as one launch, one behind the other (kernels/runtime/merge.h): each
// has a run of the launch's indices. For .cu files only.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cuda/device/upload.h"

namespace regatta::cuda {

/// In the memory of the device.
template <typename Body>
struct Merged {
  const Body* bodies = nullptr;
  const std::int64_t* begins = nullptr;  ///< index of each body's first; the first is 0
  int count = 0;                         ///< 0: nothing is merged

  /// The number of the body that has this index.
  __host__ __device__ int at(std::int64_t index) const {
    int mine = 0, end = count;  // the last that begins at the index or before
    while (end - mine > 1) {
      const int middle = (mine + end) / 2;
      (begins[middle] <= index ? mine : end) = middle;
    }
    return mine;
  }
};

/// What a launch of merged bodies reads.
template <typename Body>
class MergedMemory {
 public:
  MergedMemory() = default;
  MergedMemory(const Queue& queue, std::span<const Body> bodies,
               std::span<const std::int64_t> begins)
      : bodies_(upload<Body>(queue, bodies)),
        begins_(upload<std::int64_t>(queue, begins)),
        count_(static_cast<int>(bodies.size())) {}
  Merged<Body> merged() const {
    return {.bodies = bodies_.template as<Body>(),
            .begins = begins_.template as<std::int64_t>(),
            .count = count_};
  }

 private:
  Scratch bodies_, begins_;
  int count_ = 0;
};

}  // namespace regatta::cuda
