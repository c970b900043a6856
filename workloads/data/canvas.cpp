// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/canvas.h"

#include <algorithm>
#include <cstdlib>

namespace regatta::workloads {
namespace {

/// Pixels of a row that are painted together. The innermost loops have fixed lengths and no
/// branches, so that g++ -O2 vectorises them.
constexpr int kSpan = 8;
static_assert(kPointCount == 4 * kSpan, "a pixel has four samples");

/// Interpolates between two brightnesses; `weight` is in 1/256.
int blend(int from, int to, int weight) { return from + (((to - from) * weight) >> 8); }

/// A direction on the canvas, kUnit long.
struct Direction {
  int x;
  int y;
};

/// Maps a point of the canvas to one coordinate of an outline, which grows in `direction`: undoes
/// the rotation and divides by the radius. Units of x and y: quarter pixels
class Axis {
 public:
  Axis(const Pose& pose, Direction direction, int radius)
      : of_x_(direction.x * kScale / radius),
        of_y_(direction.y * kScale / radius),
        of_centre_(of_x_ * pose.centre_x + of_y_ * pose.centre_y) {
    for (int i = 0; i < kSpan; ++i) {
      samples_[i] = scaled(4 * i + 1, 1);
      samples_[i + kSpan] = scaled(4 * i + 3, 1);
      samples_[i + 2 * kSpan] = scaled(4 * i + 1, 3);
      samples_[i + 3 * kSpan] = scaled(4 * i + 3, 3);
    }
  }

  int operator()(int x, int y) const { return scaled(x, y) / kScale; }

  /// For the span at (x, y): the upper left sample of each pixel, then the other three of each.
  PointValues samples(int x, int y) const {
    PointValues values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = (samples_[i] + of_x_ * x + of_y_ * y) / kScale;
    }
    return values;
  }

  /// Whether samples of the span at (x, y) may be within kUnit of the centre, which contains all
  /// outlines.
  bool may_meet(int x, int y) const {
    const int half_a_span = 2 * kSpan * std::abs(of_x_) + 2 * std::abs(of_y_);
    return std::abs(scaled(x + 2 * kSpan, y + 2)) < half_a_span + (kUnit + 1) * kScale;
  }

 private:
  static constexpr int kScale = 256;

  int scaled(int x, int y) const { return of_x_ * x + of_y_ * y - of_centre_; }

  int of_x_, of_y_, of_centre_;
  PointValues samples_;  ///< those of the span at (0, 0), times kScale
};

}  // namespace

void Canvas::paint_clouds(const Gradient& colours, const Lattice& lattice) {
  const auto [from, to] = colours;
  for (int y = 0; y < kSide; ++y) {
    const auto& above = lattice[y / kCell];
    const auto& below = lattice[y / kCell + 1];
    const int down = y % kCell;
    for (int column = 0; column < kSide / kCell; ++column) {
      const int left = above[column] * (kCell - down) + below[column] * down;
      const int right = above[column + 1] * (kCell - down) + below[column + 1] * down;
      for (int x = 0; x < kCell; ++x) {
        const int weight = (left * (kCell - x) + right * x) / (kCell * kCell);
        const int at = y * kSide + column * kCell + x;
        planes_[0][at] = blend(from[0], to[0], weight);
        planes_[1][at] = blend(from[1], to[1], weight);
        planes_[2][at] = blend(from[2], to[2], weight);
      }
    }
  }
}

void Canvas::paint_outline(Shape shape, const Pose& pose, const Gradient& colours) {
  const auto [from, to] = colours;
  const Axis u(pose, {pose.cosine, pose.sine}, pose.radius_u);
  const Axis v(pose, {-pose.sine, pose.cosine}, pose.radius_v);
  const int reach = std::max(pose.radius_u, pose.radius_v) * kReach / kUnit / 4 + 1;
  const int top = std::max(0, pose.centre_y / 4 - reach);
  const int bottom = std::min(kSide - 1, pose.centre_y / 4 + reach);
  for (int y = 4 * top; y <= 4 * bottom; y += 4) {
    for (int x = 0; x < 4 * kSide; x += 4 * kSpan) {
      if (!u.may_meet(x, y) || !v.may_meet(x, y)) continue;
      const PointValues inside = covers_each(shape, u.samples(x, y), v.samples(x, y));
      for (int i = 0; i < kSpan; ++i) {
        const int weight =
            64 * (inside[i] + inside[i + kSpan] + inside[i + 2 * kSpan] + inside[i + 3 * kSpan]);
        const int along = (u(x + 4 * i + 2, y + 2) + kUnit) / 8;  // 0 … 256 across the outline
        const int mix = std::clamp(along, 0, 256);
        const int at = (y * kSide + x) / 4 + i;
        planes_[0][at] = blend(planes_[0][at], blend(from[0], to[0], mix), weight);
        planes_[1][at] = blend(planes_[1][at], blend(from[1], to[1], mix), weight);
        planes_[2][at] = blend(planes_[2][at], blend(from[2], to[2], mix), weight);
      }
    }
  }
}

void Canvas::write(std::span<const int> noise, std::span<std::uint8_t> pixels) const {
  constexpr int kPixels = kSide * kSide;
  std::array<int, 3 * kPixels> painted;
  for (int i = 0; i < kPixels; ++i) {
    painted[3 * i] = planes_[0][i];
    painted[3 * i + 1] = planes_[1][i];
    painted[3 * i + 2] = planes_[2][i];
  }
  std::array<std::uint8_t, 3 * kPixels> bytes;
  for (int i = 0; i < 3 * kPixels; ++i) {
    bytes[i] = static_cast<std::uint8_t>(std::clamp(painted[i] + noise[i], 0, 255));
  }
  std::copy(bytes.begin(), bytes.end(), pixels.begin());
}

}  // namespace regatta::workloads
