// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/shape.h"

#include <algorithm>
#include <cstdlib>

namespace regatta::workloads {
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

/// A pentagram: points behind at least four of five lines, each at distance cos 72° towards a tip.
/// Inline, because the compiler vectorises a loop over points only without calls.
inline bool in_star(ShapePoint p) {
  const auto behind = [p](ShapePoint tip) {
    return tip.u * p.u + tip.v * p.v <= 316 * kUnit ? 1 : 0;
  };
  const int left = behind({-602, -828}) + behind({-974, 316});
  const int right = behind({602, -828}) + behind({974, 316});
  return left + right + behind({0, 1024}) >= 4;
}

/// Whether `x` is in the middle third of [-900, 900).
bool in_middle(int x) { return x >= -300 && x < 300; }

bool in_bars(ShapePoint p) { return in_square(p, 899) && !in_middle(p.v); }

bool in_checker(ShapePoint p) { return in_square(p, 899) && in_middle(p.u) == in_middle(p.v); }

/// Calls `use` with the test of `shape`, so that a loop over points selects the shape only once.
template <typename Use>
auto with_test(Shape shape, Use use) {
  using P = ShapePoint;
  switch (shape) {
    case Shape::Disc: return use([](P p) { return in_disc(p, {0, 960}); });
    case Shape::Ring:
      return use([](P p) { return in_disc(p, {0, 1000}) && !in_disc(p, {0, 560}); });
    case Shape::Square: return use([](P p) { return in_square(p, 860); });
    case Shape::Frame: return use([](P p) { return in_square(p, 900) && !in_square(p, 500); });
    case Shape::Triangle: return use([](P p) { return in_triangle(p); });
    case Shape::Cross: return use([](P p) { return in_cross(p); });
    case Shape::Star: return use([](P p) { return in_star(p); });
    case Shape::Crescent:
      return use([](P p) { return in_disc(p, {0, 1024}) && !in_disc(p, {480, 800}); });
    case Shape::Bars: return use([](P p) { return in_bars(p); });
    case Shape::Checker: return use([](P p) { return in_checker(p); });
  }
  return use([](P) { return false; });
}

}  // namespace

bool covers(Shape shape, ShapePoint p) {
  return with_test(shape, [p](auto test) { return test(p); });
}

PointValues covers_each(Shape shape, const PointValues& u, const PointValues& v) {
  return with_test(shape, [&](auto test) {
    PointValues inside;
    for (std::size_t i = 0; i < inside.size(); ++i) inside[i] = test({u[i], v[i]}) ? 1 : 0;
    return inside;
  });
}

}  // namespace regatta::workloads
