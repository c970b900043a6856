// SPDX-License-Identifier: Apache-2.0
//
// The ten outlines of the data set `shapes`. Each is defined by tests of a point against
// half-planes and discs, in integer arithmetic only, so that the result is the same with every
// compiler and on every machine. No outline turns into another when it is rotated, mirrored or
// slightly stretched.
#pragma once

#include <array>

namespace regatta::workloads {

/// The outlines. An enumerator's number is the label of pictures with that outline.
enum class Shape { Disc, Ring, Square, Frame, Triangle, Cross, Star, Crescent, Bars, Checker };

constexpr int kShapeCount = 10;

/// The value that represents the length 1 in the coordinates of an outline.
constexpr int kUnit = 1024;

/// Every outline lies within this distance of its centre, and within kUnit along either axis.
constexpr int kReach = 1280;

/// A point in the coordinates of an outline. Units: 1/1024 of its radius
struct ShapePoint {
  int u = 0;
  int v = 0;
};

/// Whether `point` is inside the outline `shape`.
bool covers(Shape shape, ShapePoint point);

/// The number of points that covers_each() tests at a time; batches are faster than single points.
constexpr int kPointCount = 32;
using PointValues = std::array<int, kPointCount>;

/// Returns 1 for each point (u[i], v[i]) that is inside the outline, 0 for the others.
PointValues covers_each(Shape shape, const PointValues& u, const PointValues& v);

}  // namespace regatta::workloads
