// SPDX-License-Identifier: Apache-2.0
//
// A small picture that shapes.cpp paints on, in integer arithmetic only: a two-coloured cloudy
// background, outlines with soft edges, noise.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "workloads/data/shape.h"

namespace regatta {

using Colour = std::array<int, 3>;  ///< red, green, blue. Units: 0 … 255

/// A transition from one colour to another.
struct Gradient {
  Colour from;
  Colour to;
};

/// The position, rotation and size of an outline.
struct Placement {
  int centre_x = 0;  ///< Units: quarter pixels
  int centre_y = 0;
  int cosine = kUnit;  ///< cosine of the angle of rotation. Units: 1/1024
  int sine = 0;
  int radius_u = 0;  ///< along the outline's own axes. Units: quarter pixels
  int radius_v = 0;
};

class Canvas {
 public:
  static constexpr int kSide = 32;
  static constexpr int kCell = 8;  ///< pixels between two points of the lattice
  static constexpr int kLattice = kSide / kCell + 1;
  using Lattice = std::array<std::array<int, kLattice>, kLattice>;  ///< 0 … 256: from … to

  /// Blends the colours by the lattice, interpolated between its points.
  void paint_clouds(const Gradient& colours, const Lattice& lattice);
  /// Paints an outline. Edges are blended over four samples a pixel; the gradient runs along the
  /// outline's u axis.
  void paint_outline(Shape shape, const Placement& placement, const Gradient& colours);
  /// Adds `noise`, one value for each byte, and clips to 0 … 255.
  void write(std::span<const int> noise, std::span<std::uint8_t> pixels) const;

 private:
  std::array<std::array<int, kSide * kSide>, 3> planes_{};  ///< red, green, blue
};

}  // namespace regatta
