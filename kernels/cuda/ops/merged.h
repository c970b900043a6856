// SPDX-License-Identifier: Apache-2.0
//
// Runs several bodies of one type in one launch (kernels/runtime/merge.h): each body has a range of
// the launch's indices, one range after the other. For .cu files only.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cuda/device/upload.h"

namespace regatta::cuda {

/// The merged bodies of a launch; the pointers are to device memory.
template <typename Body>
struct Merged {
  const Body* bodies = nullptr;
  const std::int64_t* begins = nullptr;  ///< the first index of each body; 0 for the first
  int count = 0;                         ///< 0: nothing is merged

  /// Returns the position in `bodies` of the body that runs `index`.
  __host__ __device__ int at(std::int64_t index) const {
    int mine = 0, end = count;  // the last body that begins at the index or before
    while (end - mine > 1) {
      const int middle = (mine + end) / 2;
      (begins[middle] <= index ? mine : end) = middle;
    }
    return mine;
  }
};

/// Owns the device memory that a launch of merged bodies reads.
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
