// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/shape.h"

#include <algorithm>
#include <cstdlib>

namespace regatta {
namespace {

struct Disc {
  int centre_u;
  int radius;
};

bool in_disc(ShapePoint p, Disc disc) {
  const int u = p.u - disc.centre_u;
  return u * u + p.v * p.v <= disc.radius * disc.radius;
}

bool in_square(ShapePoint p, int half_side) {
  return std::abs(p.u) <= half_side && std::abs(p.v) <= half_side;
}

bool in_triangle(ShapePoint p) {  // equilateral, corners at distance 1
  constexpr int kRootThree = 1774;
  return p.v >= -kUnit / 2 && kRootThree * std::abs(p.u) + kUnit * p.v <= kUnit * kUnit;
}

bool in_cross(ShapePoint p) {
  constexpr int kHalfWidth = 300;
  const int u = std::abs(p.u);
  const int v = std::abs(p.v);
  return std::min(u, v) <= kHalfWidth && std::max(u, v) <= kUnit;
}

/// A pentagram: behind at least four of five lines, each at distance cos 72° towards a tip.
bool in_star(ShapePoint p) {
  constexpr ShapePoint kTips[5] = {{0, 1024}, {974, 316}, {602, -828}, {-602, -828}, {-974, 316}};
  constexpr int kDistance = 316 * kUnit;
  int behind = 0;
  for (const ShapePoint& tip : kTips) behind += tip.u * p.u + tip.v * p.v <= kDistance ? 1 : 0;
  return behind >= 4;
}

/// Which of three equal parts of [-900, 900) holds `x`.
int third(int x) { return (x + 900) / 600; }

bool in_bars(ShapePoint p) { return in_square(p, 899) && third(p.v) != 1; }

bool in_checker(ShapePoint p) { return in_square(p, 899) && (third(p.u) + third(p.v)) % 2 == 0; }

}  // namespace

bool covers(Shape shape, ShapePoint p) {
  switch (shape) {
    case Shape::Disc: return in_disc(p, {0, 960});
    case Shape::Ring: return in_disc(p, {0, 1000}) && !in_disc(p, {0, 560});
    case Shape::Square: return in_square(p, 860);
    case Shape::Frame: return in_square(p, 900) && !in_square(p, 500);
    case Shape::Triangle: return in_triangle(p);
    case Shape::Cross: return in_cross(p);
    case Shape::Star: return in_star(p);
    case Shape::Crescent: return in_disc(p, {0, 1024}) && !in_disc(p, {480, 800});
    case Shape::Bars: return in_bars(p);
    case Shape::Checker: return in_checker(p);
  }
  return false;
}

}  // namespace regatta
