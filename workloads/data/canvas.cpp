// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/canvas.h"

#include <algorithm>

namespace regatta {
namespace {

/// `weight` of 256 parts of the way from one colour to the other.
Colour blend(const Colour& from, const Colour& to, int weight) {
  Colour result;
  for (std::size_t i = 0; i < 3; ++i) result[i] = from[i] + (((to[i] - from[i]) * weight) >> 8);
  return result;
}

/// From the canvas to the coordinates of an outline: the rotation undone, the radii divided out.
class Projection {
 public:
  explicit Projection(const Placement& p)
      : centre_x_(p.centre_x),
        centre_y_(p.centre_y),
        u_of_x_(p.cosine * kScale / p.radius_u),
        u_of_y_(p.sine * kScale / p.radius_u),
        v_of_x_(-p.sine * kScale / p.radius_v),
        v_of_y_(p.cosine * kScale / p.radius_v) {}

  /// Units: quarter pixels
  ShapePoint operator()(int x, int y) const {
    const int dx = x - centre_x_;
    const int dy = y - centre_y_;
    return {(u_of_x_ * dx + u_of_y_ * dy) / kScale, (v_of_x_ * dx + v_of_y_ * dy) / kScale};
  }

 private:
  static constexpr int kScale = 256;

  int centre_x_, centre_y_, u_of_x_, u_of_y_, v_of_x_, v_of_y_;
};

/// How many of the pixel's four samples the outline covers.
int coverage(Shape shape, const Projection& project, int x, int y) {
  int covered = 0;
  for (const int dy : {1, 3}) {
    for (const int dx : {1, 3}) covered += covers(shape, project(4 * x + dx, 4 * y + dy)) ? 1 : 0;
  }
  return covered;
}

}  // namespace

void Canvas::paint_clouds(const Gradient& colours, const Lattice& lattice) {
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const auto& above = lattice[y / kCell];
      const auto& below = lattice[y / kCell + 1];
      const int column = x / kCell;
      const int right = x % kCell;
      const int down = y % kCell;
      const int top = above[column] * (kCell - right) + above[column + 1] * right;
      const int bottom = below[column] * (kCell - right) + below[column + 1] * right;
      const int weight = (top * (kCell - down) + bottom * down) / (kCell * kCell);
      pixels_[y * kSide + x] = blend(colours.from, colours.to, weight);
    }
  }
}

void Canvas::paint_outline(Shape shape, const Placement& placement, const Gradient& colours) {
  const Projection project(placement);
  const int reach = std::max(placement.radius_u, placement.radius_v) * kReach / kUnit / 4 + 1;
  const int left = std::max(0, placement.centre_x / 4 - reach);
  const int right = std::min(kSide - 1, placement.centre_x / 4 + reach);
  const int top = std::max(0, placement.centre_y / 4 - reach);
  const int bottom = std::min(kSide - 1, placement.centre_y / 4 + reach);
  for (int y = top; y <= bottom; ++y) {
    for (int x = left; x <= right; ++x) {
      const int covered = coverage(shape, project, x, y);
      if (covered == 0) continue;
      const int along =
          (project(4 * x + 2, 4 * y + 2).u + kUnit) / 8;  // 0 … 256 across the outline
      const Colour fill = blend(colours.from, colours.to, std::clamp(along, 0, 256));
      Colour& pixel = pixels_[y * kSide + x];
      pixel = blend(pixel, fill, 64 * covered);
    }
  }
}

void Canvas::write(std::span<const int> noise, std::span<std::uint8_t> pixels) const {
  for (std::size_t i = 0; i < pixels_.size(); ++i) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      const std::size_t at = 3 * i + channel;
      pixels[at] = static_cast<std::uint8_t>(std::clamp(pixels_[i][channel] + noise[at], 0, 255));
    }
  }
}

}  // namespace regatta
