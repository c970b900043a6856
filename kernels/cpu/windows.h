// SPDX-License-Identifier: Apache-2.0
//
// Windows of a max_pool that do not overlap, for fused ops: finds the largest value of each window
// and writes gradients to its pixel. Bottom rows and right columns may be in no window.
#pragma once

#include "kernels/cpu/lanes.h"
#include "kernels/graph/tensor_type.h"

namespace regatta::cpu {

/// The windows of one image. Units: pixels; offsets in elements.
struct Windows {
  Windows() = default;
  Windows(const TensorType& x, std::int64_t window)
      : height(x.dim(1)),
        width(x.dim(2)),
        channels(x.dim(3)),
        side(window),
        rows(height / side),
        columns(width / side) {}

  std::int64_t image() const { return height * width * channels; }
  std::int64_t pooled_image() const { return rows * columns * channels; }

  /// Calls body(corner, pooled, side) for every window: `corner` is the offset of its first element
  /// in the image, `pooled` the offset of its result in the pooled image. Common sides are
  /// compile-time constants.
  template <typename Body>
  void for_each(const Body& body) const {
    if (side == 2) {
      visit(std::integral_constant<int, 2>{}, body);
    } else {
      visit(static_cast<int>(side), body);
    }
  }

  /// Calls body(offset, count) for every run of `count` elements whose pixels are in no window.
  template <typename Body>
  void for_each_rest(const Body& body) const {
    const std::int64_t covered = columns * side;
    for (std::int64_t h = 0; covered < width && h < rows * side; ++h) {
      body((h * width + covered) * channels, (width - covered) * channels);
    }
    const std::int64_t below = rows * side * width * channels;
    if (below < image()) body(below, image() - below);
  }

  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t side = 1;
  std::int64_t rows = 0, columns = 0;

 private:
  template <typename Side, typename Body>
  void visit(Side known_side, const Body& body) const {
    for (std::int64_t p = 0; p < rows; ++p) {
      for (std::int64_t q = 0; q < columns; ++q) {
        body((p * side * width + q * side) * channels, (p * columns + q) * channels, known_side);
      }
    }
  }
};

/// The largest value of a window, the pixel from which it was computed, and the pixel's position in
/// the window, row-major.
struct Largest {
  Lanes value;
  Lanes pixel;
  LaneIntegers position;
};

/// Returns the largest value(pixel) of the window at `corner` for each of kLanes channels; of equal
/// values, the first.
template <typename T, typename Side, typename Count, typename Value>
inline Largest largest(const Windows& n, const T* corner, Side side, Count lanes,
                       const Value& value) {
  const Lanes first = load_lanes(corner, lanes);
  Largest best{.value = value(first), .pixel = first, .position = LaneIntegers{}};
  for (int r = 0; r < side; ++r) {
    for (int s = 0; s < side; ++s) {
      if (r + s == 0) continue;
      const Lanes pixel = load_lanes(corner + (r * n.width + s) * n.channels, lanes);
      const Lanes candidate = value(pixel);
      const auto wins = candidate > best.value;
      best.value = wins ? candidate : best.value;
      best.pixel = wins ? pixel : best.pixel;
      best.position = wins ? LaneIntegers{} + (r * side + s) : best.position;
    }
  }
  return best;
}

/// Writes `values` to the pixel of the window that `positions` selects, and zeros to its other
/// pixels.
template <typename T, typename Side, typename Count>
inline void store_to_picked(const Windows& n, T* corner, Side side, Count lanes, Lanes values,
                            const std::uint8_t* positions) {
  using Integers = std::conditional_t<sizeof(T) == 2, LaneHalves, LaneIntegers>;
  const auto picked = __builtin_convertvector(load_raw<LaneBytes>(positions, lanes), Integers);
  const auto rounded = std::bit_cast<Integers>(rounded_to(T{}, values));
  for (int r = 0; r < side; ++r) {
    for (int s = 0; s < side; ++s) {
      const Integers here =
          rounded & std::bit_cast<Integers>(
                        picked == (Integers{} + static_cast<std::uint16_t>(r * side + s)));
      std::memcpy(corner + (r * n.width + s) * n.channels, &here, lanes.count * sizeof(T));
    }
  }
}

}  // namespace regatta::cpu
