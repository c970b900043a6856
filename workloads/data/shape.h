// SPDX-License-Identifier: Apache-2.0
//
// The ten outlines that the data set `shapes` tells apart, as tests of a point against half-planes
// and discs, in integer arithmetic only, so that compilers and machines cannot round differently.
// None changes class when it is turned, mirrored or stretched a little.
#pragma once

namespace regatta {

/// The number of an enumerator is the label of its pictures.
enum class Shape { Disc, Ring, Square, Frame, Triangle, Cross, Star, Crescent, Bars, Checker };

constexpr int kShapeCount = 10;

/// The length that is 1 in the coordinates of an outline.
constexpr int kUnit = 1024;

/// Every outline lies within this distance of its centre.
constexpr int kReach = 1280;

/// A point in the coordinates of an outline. Units: 1/1024 of its radius
struct ShapePoint {
  int u = 0;
  int v = 0;
};

/// Whether `point` is inside the outline.
bool covers(Shape shape, ShapePoint point);

}  // namespace regatta
