// SPDX-License-Identifier: Apache-2.0
//
// A normalisation with known statistics is a linear function of x for each channel of a group:
//   h = (x - mean) * inverse deviation;  z = (x - mean) * scale * inverse deviation + shift.
// On host and device; for .cu files only.
#pragma once

#include <type_traits>

#include "kernels/cuda/ops/element.h"
#include "kernels/graph/fusion.h"

namespace regatta::cuda {

/// Number of a normalisation's blocks that must fit into a multiprocessor: the fastest of 2, 3 and
/// 4 on an H200 for training in bf16; fewer where this number would spill registers.
template <typename T, Fusion::Pool kPool>
inline constexpr int kBlocksOf = std::is_same_v<T, float>       ? 2
                                 : kPool == Fusion::Pool::After ? 3
                                                                : 4;

/// The constants of the lines of one thread's kWidth channels.
template <int kWidth>
struct Line {
  float mean[kWidth];
  float inverse[kWidth];
  float factor[kWidth];  ///< scale * inverse deviation
  float shift[kWidth];

  __host__ __device__ float from_mean(float x, int j) const { return x - mean[j]; }
  __host__ __device__ float z(float x, int j) const {
    return from_mean(x, j) * factor[j] + shift[j];
  }
};

/// Addresses from which the lines' constants are loaded. Shapes: mean, inverse [groups, channels];
/// scale, shift [channels].
struct Lines {
  const float* mean = nullptr;
  const float* inverse = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;  ///< null if z is not wanted
  std::int64_t channels = 0;

  template <int kWidth>
  __host__ __device__ Line<kWidth> of(std::int64_t group, std::int64_t channel) const {
    Line<kWidth> line{};
    load_pack(mean + group * channels + channel, line.mean);
    load_pack(inverse + group * channels + channel, line.inverse);
    load_pack(scale + channel, line.factor);
    for (int j = 0; j < kWidth; ++j) line.factor[j] *= line.inverse[j];
    if (shift != nullptr) load_pack(shift + channel, line.shift);
    return line;
  }
};

}  // namespace regatta::cuda
