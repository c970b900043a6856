// SPDX-License-Identifier: Apache-2.0
//
// The transforms of Winograd's algorithm F(4 x 4, 3 x 3) and of its gradient of weights, F(3 x 3, 4
// x 4), as products of polynomials at the points 0, ±p, ±q and infinity (Toom and Cook; Lavin &
// Gray 2015, arXiv:1509.09308). In one dimension, with their matrices B, G and A:
//   y = A' ((G g) * (B' d)),  d: 6 of x, g: 3 weights, y: 4 results;
//   for the gradient g: 4 of dy, y: 3 weights.
// In two dimensions, each is applied to columns and to rows, which gives 6 x 6 values, here called
// points. The lanes of a register are channels. p = 11/16 and q = 23/16 have the least rounding
// error among points with powers that are exact in f32 (derived in convolution_winograd_test.cpp;
// Barabasz et al. 2018, arXiv:1803.10986, show how the error depends on the points).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cpu/lanes.h"

namespace regatta::cpu::winograd {

inline constexpr std::int64_t kTile = 4;    ///< side of a tile of y, in pixels
inline constexpr std::int64_t kReach = 6;   ///< side of the square of x that it reads
inline constexpr std::int64_t kWindow = 3;  ///< side of the window of weights
inline constexpr std::int64_t kPoints = kReach * kReach;

inline constexpr float kP = 11.0F / 16, kQ = 23.0F / 16;
inline constexpr float kP2 = kP * kP, kQ2 = kQ * kQ;

template <std::size_t kCount>
using Line = std::array<Lanes, kCount>;

/// Returns B' d.
inline Line<6> points_of_data(const Line<6>& d) {
  const Lanes even_p = d[4] - kQ2 * d[2], odd_p = kP * (d[3] - kQ2 * d[1]);
  const Lanes even_q = d[4] - kP2 * d[2], odd_q = kQ * (d[3] - kP2 * d[1]);
  return {d[4] - (kP2 + kQ2) * d[2] + kP2 * kQ2 * d[0],
          even_p + odd_p,
          even_p - odd_p,
          even_q + odd_q,
          even_q - odd_q,
          d[5] - (kP2 + kQ2) * d[3] + kP2 * kQ2 * d[1]};
}

// 1 / the product of a point's differences from the others.
inline constexpr float kAtZero = 1 / (kP2 * kQ2);
inline constexpr float kAtP = 1 / (2 * kP2 * (kP2 - kQ2));
inline constexpr float kAtQ = 1 / (2 * kQ2 * (kQ2 - kP2));

/// Returns G g for three weights.
inline Line<6> points_of_factor(const Line<3>& g) {
  const Lanes even_p = g[0] + kP2 * g[2], odd_p = kP * g[1];
  const Lanes even_q = g[0] + kQ2 * g[2], odd_q = kQ * g[1];
  return {kAtZero * g[0],          kAtP * (even_p + odd_p), kAtP * (even_p - odd_p),
          kAtQ * (even_q + odd_q), kAtQ * (even_q - odd_q), g[2]};
}

/// Returns G g for four gradients.
inline Line<6> points_of_factor(const Line<4>& g) {
  const Lanes even_p = g[0] + kP2 * g[2], odd_p = kP * (g[1] + kP2 * g[3]);
  const Lanes even_q = g[0] + kQ2 * g[2], odd_q = kQ * (g[1] + kQ2 * g[3]);
  return {kAtZero * g[0],          kAtP * (even_p + odd_p), kAtP * (even_p - odd_p),
          kAtQ * (even_q + odd_q), kAtQ * (even_q - odd_q), g[3]};
}

/// Computes A' m, four results.
inline void results(const Line<6>& m, Line<4>& y) {
  const Lanes even_p = m[1] + m[2], odd_p = kP * (m[1] - m[2]);
  const Lanes even_q = m[3] + m[4], odd_q = kQ * (m[3] - m[4]);
  y = {m[0] + even_p + even_q, odd_p + odd_q, kP2 * even_p + kQ2 * even_q,
       kP2 * odd_p + kQ2 * odd_q + m[5]};
}

/// Computes A' m, three gradients of weights.
inline void results(const Line<6>& m, Line<3>& y) {
  const Lanes even_p = m[1] + m[2], even_q = m[3] + m[4];
  y = {m[0] + even_p + even_q, kP * (m[1] - m[2]) + kQ * (m[3] - m[4]),
       kP2 * even_p + kQ2 * even_q + m[5]};
}

/// One matrix per point, stored one after another `plane` elements apart: column c of row r of
/// point k's matrix is at k * plane + r * width + c.
struct Planes {
  float* data;
  std::int64_t plane;  ///< elements from one point's matrix to the next
  std::int64_t width;  ///< columns

  float* row(std::int64_t index) const { return data + index * width; }
};

/// The part of a tile's reach that lies inside the image: rows [top, bottom), columns [left,
/// right).
struct Inside {
  int top, bottom, left, right;
};

/// Calls body(channel) for runs of kLanes channels. If kLanes does not divide `channels`, the last
/// run overlaps the previous one and repeats its results. `channels` must be at least kLanes.
template <typename Body>
inline void for_each_run(std::int64_t channels, const Body& body) {
  for (std::int64_t c = 0; c < channels; c += kLanes) body(std::min(c, channels - kLanes));
}

/// Distances to the next row and the next column. Units: elements.
struct Strides {
  std::int64_t line, pixel;
};

/// Transforms the kSide x kSide pixels at `corner` (which may lie outside of the image) to points
/// in one row of the planes.
template <std::size_t kSide, typename T, typename Transform>
inline void to_points(const T* corner, const Strides& strides, std::int64_t channels,
                      const Inside& inside, const Planes& planes, std::int64_t row,
                      const Transform& transform) {
  constexpr int kEnd = kSide;
  const bool whole =
      inside.top == 0 && inside.left == 0 && inside.bottom == kEnd && inside.right == kEnd;
  for_each_run(channels, [&](std::int64_t c) {
    std::array<Line<kSide>, kReach> columns;  // by point of rows; all columns
    for (int j = 0; j < kEnd; ++j) {
      Line<kSide> pixels{};
      const T* at = corner + j * strides.pixel + c;
      if (whole) {
        for (int i = 0; i < kEnd; ++i) pixels[i] = load_lanes(at + i * strides.line, AllLanes{});
      } else if (j >= inside.left && j < inside.right) {
        for (int i = inside.top; i < inside.bottom; ++i) {
          pixels[i] = load_lanes(at + i * strides.line, AllLanes{});
        }
      }
      const Line<6> points = transform(pixels);
      for (int k = 0; k < kReach; ++k) columns[k][j] = points[k];
    }
    float* to = planes.row(row) + c;
    for (int k = 0; k < kReach; ++k) {
      const Line<6> points = transform(columns[k]);
      for (int l = 0; l < kReach; ++l) {
        store_lanes(to + (k * kReach + l) * planes.plane, points[l], AllLanes{});
      }
    }
  });
}

/// Transforms the points at `from` (of kLanes channels, a plane apart) to a square of results.
template <std::size_t kSide>
inline std::array<Line<kSide>, kSide> from_points(const float* from, std::int64_t plane) {
  std::array<Line<6>, kSide> rows;  // results down the columns
  for (int l = 0; l < kReach; ++l) {
    Line<6> m;
    for (int k = 0; k < kReach; ++k) {
      m[k] = load_lanes(from + (k * kReach + l) * plane, AllLanes{});
    }
    Line<kSide> y;
    results(m, y);
    for (std::size_t i = 0; i < kSide; ++i) rows[i][l] = y[i];
  }
  std::array<Line<kSide>, kSide> square;
  for (std::size_t i = 0; i < kSide; ++i) results(rows[i], square[i]);
  return square;
}

}  // namespace regatta::cpu::winograd
