// SPDX-License-Identifier: Apache-2.0
//
// The second pass of a normalisation, with known statistics: y = activation(z(x)) [+ residual],
// with a pool before or after the activation. For .cu files only.
#pragma once

#include "kernels/cuda/ops/activation_function.h"
#include "kernels/cuda/ops/normalize_line.h"
#include "kernels/cuda/ops/sweep.h"
#include "kernels/cuda/ops/windows.h"

namespace regatta::cuda {

/// Body that computes y. The rows of the sweep are the rows of y.
template <typename T, int kWidth, Fusion::Pool kPool>
struct NormalizeApply {
  Sweep sweep;
  Lines lines;
  Fusion::Activation activation;
  Windows windows;       ///< if there is a pool: its complete windows
  std::int64_t x_group;  ///< elements of x in a group
  const T* x;
  const T* residual;  ///< may be null
  T* y;
  T* picked;                ///< Pool::After: receives each window's winning pixel; may be null
  std::uint8_t* positions;  ///< receives the pixels' positions in the windows; may be null

  __host__ __device__ void operator()(const Block& block) const {
    block.each([&](int thread) {
      const SweepShare mine = sweep.template share<kWidth>(block.index, thread);
      if (mine.begin >= mine.end) return;
      with_activation(activation, [&](auto kind) { apply<decltype(kind)::value>(mine); });
    });
  }

  template <Fusion::Activation kActivation>
  __host__ __device__ void apply(const SweepShare& mine) const {
    const Line<kWidth> line = lines.of<kWidth>(mine.group, mine.channel);
    if constexpr (kPool == Fusion::Pool::None) {
      const auto read = [&](std::int64_t row) {
        return pack_at<kWidth>(x + sweep.offset(mine, row));
      };
      sweep.for_each_loaded<kRowsAtOnce>(
          mine, read, [&](std::int64_t row, const Pack<T, kWidth>& pack) {
            float values[kWidth];
            unpack(pack, values);
            for (int j = 0; j < kWidth; ++j) {
              values[j] = activate<kActivation>(line.z(values[j], j));
            }
            finish(sweep.offset(mine, row), values);
          });
    } else {
      with_side(windows.side, [&](auto side) {
        sweep.for_each_row(mine, [&](std::int64_t row) {
          float values[kWidth];
          const std::int64_t at = sweep.offset(mine, row);
          pick<kActivation, decltype(side)::value>(line, corner(mine, row), at, values);
          finish(at, values);
        });
      });
    }
  }

  __host__ __device__ void finish(std::int64_t at, float (&values)[kWidth]) const {
    if (residual != nullptr) {
      float others[kWidth];
      load_pack(residual + at, others);
      for (int j = 0; j < kWidth; ++j) values[j] += others[j];
    }
    store_pack(y + at, values);
  }

  __host__ __device__ const T* corner(const SweepShare& mine, std::int64_t row) const {
    return x + mine.group * x_group + windows.place(row).corner + mine.channel;
  }

  /// Computes the pool's result for the window whose corner is `from`.
  template <Fusion::Activation kActivation, int kSide>
  __host__ __device__ void pick(const Line<kWidth>& line, const T* from, std::int64_t at,
                                float (&values)[kWidth]) const {
    if constexpr (kPool == Fusion::Pool::Before) {
      const auto best = largest<kSide, kWidth>(windows, from, PixelItself{});
      for (int j = 0; j < kWidth; ++j) {
        values[j] = activate<kActivation>(line.z(best.pixel[j], j));
      }
      return;
    }
    const auto best = largest<kSide, kWidth>(
        windows, from, [&](float pixel, int j) { return activate<kActivation>(line.z(pixel, j)); });
    for (int j = 0; j < kWidth; ++j) values[j] = best.value[j];
    if (picked == nullptr) return;
    store_pack(picked + at, best.pixel);
    store_positions(positions + at, best.position);
  }
};

}  // namespace regatta::cuda
