// SPDX-License-Identifier: Apache-2.0
//
// A small picture on which shapes.cpp paints, in integer arithmetic only: a cloudy background of
// two colours, outlines with soft edges, and noise.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "workloads/data/shape.h"

namespace regatta::workloads {

using Colour = std::array<int, 3>;  ///< red, green and blue, each 0 … 255

/// A transition from one colour to another.
struct Gradient {
  Colour from;
  Colour to;
};

/// The position, rotation and size of an outline.
struct Pose {
  int centre_x = 0;  ///< Units: quarter pixels
  int centre_y = 0;
  int cosine = kUnit;  ///< cosine of the angle of rotation. Units: 1/1024
  int sine = 0;
  int radius_u = 0;  ///< radii along the outline's own axes u and v. Units: quarter pixels
  int radius_v = 0;
};

class Canvas {
 public:
  static constexpr int kSide = 32;
  static constexpr int kCell = 8;  ///< pixels between two points of the lattice
  static constexpr int kLattice = kSide / kCell + 1;
  /// Blends of two colours at the points of a grid, each 0 … 256: 0 is the colour `from`, 256 is
  /// `to`.
  using Lattice = std::array<std::array<int, kLattice>, kLattice>;

  /// Fills the picture with blends of two colours. The lattice gives the blend at its points;
  /// between them it is interpolated.
  void paint_clouds(const Gradient& colours, const Lattice& lattice);
  /// Paints a filled outline. Edges are softened with four samples per pixel; the colours' gradient
  /// runs along the outline's u axis.
  void paint_outline(Shape shape, const Pose& pose, const Gradient& colours);
  /// Writes the picture to `pixels`: adds `noise`, which has one value per byte, and clips to 0 …
  /// 255.
  void write(std::span<const int> noise, std::span<std::uint8_t> pixels) const;

 private:
  std::array<std::array<int, kSide * kSide>, 3> planes_{};  ///< red, green, blue
};

}  // namespace regatta::workloads
