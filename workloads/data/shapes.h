// SPDX-License-Identifier: Apache-2.0
//
// The data set `shapes`: pictures that the program generates, so that all programs and tests run on
// a machine without CIFAR-10 and without a network. A picture is 32 x 32 RGB and shows one of ten
// outlines (shape.h) of varied colour, position, size, proportions and rotation, filled with a
// gradient, on a cloudy background, among clutter and partly hidden, under noise.
//
// Picture i of a split is a pure function of (seed, split, i), so a larger set starts with the
// pictures of a smaller one. Integer arithmetic on Philox words gives the same bits on every
// machine. The label of picture i is i modulo 10, so the classes are balanced.
#pragma once

#include <cstdint>

#include "kernels/data/data_set.h"
#include "workloads/data/split.h"

namespace regatta::workloads {

/// Generates the first `count` pictures of a split. Shapes: images [count, 32, 32, 3], labels
/// [count].
/// Throws: RunError(Usage) if count is not positive
DataSet make_shapes(std::uint64_t seed, Split split, std::int64_t count);

}  // namespace regatta::workloads
