// SPDX-License-Identifier: Apache-2.0
//
// Non-overlapping windows of a pool, as rows of a sweep (sweep.h): row r of a group of images is a
// window; windows are counted image by image, row-major. For host and device; for .cu files only.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/ops/element.h"
#include "kernels/graph/tensor_type.h"

namespace regatta::cuda {

/// One window. Offsets count elements from the beginning of the group, at channel 0.
struct WindowPlace {
  std::int64_t corner = 0;  ///< offset of the window's first pixel in the image
  std::int64_t pooled = 0;  ///< offset of its result in the pooled image, if `complete`
  std::int32_t height = 0;  ///< rows and columns of the window inside the image
  std::int32_t width = 0;
  bool complete = false;
};

struct Windows {
  enum class Cover : std::uint8_t {
    Complete,  ///< windows that lie inside the image, as in the pool's result
    All        ///< also windows cut by the border, so that every pixel is in one
  };

  Windows() = default;
  Windows(const TensorType& x, std::int64_t window, Cover cover)
      : height(static_cast<std::int32_t>(x.dim(1))),
        width(static_cast<std::int32_t>(x.dim(2))),
        channels(x.dim(3)),
        side(static_cast<std::int32_t>(window)),
        pooled_rows(height / side),
        pooled_columns(width / side) {
    const std::int32_t more = cover == Cover::All ? side - 1 : 0;
    rows = (height + more) / side;
    columns = (width + more) / side;
  }

  std::int64_t of_an_image() const { return static_cast<std::int64_t>(rows) * columns; }

  __host__ __device__ WindowPlace place(std::int64_t index) const {
    // A group has fewer than 2^32 windows, and 32-bit division is far cheaper.
    const auto all = static_cast<std::uint32_t>(index);
    const auto column = static_cast<std::int32_t>(all % static_cast<std::uint32_t>(columns));
    const std::uint32_t line = all / static_cast<std::uint32_t>(columns);
    const auto row = static_cast<std::int32_t>(line % static_cast<std::uint32_t>(rows));
    const std::int64_t image = line / static_cast<std::uint32_t>(rows);
    const std::int32_t below = height - row * side, right = width - column * side;
    return {.corner = ((image * height + row * side) * width + column * side) * channels,
            .pooled = ((image * pooled_rows + row) * pooled_columns + column) * channels,
            .height = below < side ? below : side,
            .width = right < side ? right : side,
            .complete = row < pooled_rows && column < pooled_columns};
  }

  /// Returns the offset of a window's pixel (row, column) from the window's corner.
  __host__ __device__ std::int64_t pixel(std::int32_t row, std::int32_t column) const {
    return (static_cast<std::int64_t>(row) * width + column) * channels;
  }

  std::int32_t height = 0, width = 0;  ///< size of an image
  std::int64_t channels = 0;
  std::int32_t side = 1;
  std::int32_t pooled_rows = 0, pooled_columns = 0;
  std::int32_t rows = 0, columns = 0;  ///< rows and columns of windows
};

/// The largest pixel of a window at one or more channels, and its position (row-major, the first of
/// equals).
template <int kWidth>
struct Largest {
  float value[kWidth];  ///< the compared value
  float pixel[kWidth];  ///< the pixel that it was computed from
  std::uint8_t position[kWidth];
};

/// A `value` for largest() that compares the pixels themselves. Largest::value is then not
/// computed.
struct PixelItself {
  __host__ __device__ float operator()(float pixel, int) const { return pixel; }
};

/// Replaces `best`, channel by channel, if value(pixel, channel) is larger or `position` is 0.
template <int kWidth, typename T, typename Value>
__host__ __device__ inline void take_larger(const Pack<T, kWidth>& pack, int position,
                                            const Value& value, Largest<kWidth>& best) {
  constexpr bool kHasValues = !std::is_same_v<Value, PixelItself>;
  float pixel[kWidth];
  unpack(pack, pixel);
  for (int j = 0; j < kWidth; ++j) {
    const float candidate = value(pixel[j], j);
    const float largest = kHasValues ? best.value[j] : best.pixel[j];
    if (position > 0 && !(candidate > largest)) continue;
    if constexpr (kHasValues) best.value[j] = candidate;
    best.pixel[j] = pixel[j];
    best.position[j] = static_cast<std::uint8_t>(position);
  }
}

/// Calls visit(side), where `side` is the windows' side as a std::integral_constant, or 0 for a
/// side whose loops are not unrolled.
template <typename Visit>
__host__ __device__ inline void with_side(std::int32_t side, const Visit& visit) {
  if (side == 2) return visit(std::integral_constant<int, 2>{});
  if (side == 3) return visit(std::integral_constant<int, 3>{});
  visit(std::integral_constant<int, 0>{});
}

/// Returns the largest value(pixel, j) of the window at `corner` for each channel j < kWidth. kSide
/// is the constant from with_side(); unless it is 0, all pixels of a row are read before one is
/// compared.
template <int kSide, int kWidth, typename T, typename Value>
__host__ __device__ inline Largest<kWidth> largest(const Windows& n, const T* corner,
                                                   const Value& value) {
  Largest<kWidth> best{};
  if constexpr (kSide > 0) {
    for (int r = 0; r < kSide; ++r) {
      Pack<T, kWidth> row[kSide];
      for (int s = 0; s < kSide; ++s) row[s] = pack_at<kWidth>(corner + n.pixel(r, s));
      for (int s = 0; s < kSide; ++s) take_larger(row[s], r * kSide + s, value, best);
    }
  } else {
    for (int k = 0; k < n.side * n.side; ++k) {
      take_larger(pack_at<kWidth>(corner + n.pixel(k / n.side, k % n.side)), k, value, best);
    }
  }
  return best;
}

template <int kWidth>
__host__ __device__ inline void store_positions(std::uint8_t* to,
                                                const std::uint8_t (&positions)[kWidth]) {
  Pack<std::uint8_t, kWidth> pack;
  for (int j = 0; j < kWidth; ++j) pack.at[j] = positions[j];
  *reinterpret_cast<Pack<std::uint8_t, kWidth>*>(to) = pack;
}

template <int kWidth>
__host__ __device__ inline Pack<std::uint8_t, kWidth> load_positions(const std::uint8_t* from) {
  return *reinterpret_cast<const Pack<std::uint8_t, kWidth>*>(from);
}

}  // namespace regatta::cuda
