// SPDX-License-Identifier: Apache-2.0
//
// Divides the ops take and put into copies of rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/graph/node.h"

namespace regatta {

/// A copy of some rows from an input to the output. Units: elements.
struct CopiedRows {
  std::size_t input = 0;
  std::int64_t from = 0;  ///< the first row's first element in the input
  std::int64_t from_stride = 0;
  std::int64_t to = 0;  ///< the first row's first element in the output
  std::int64_t to_stride = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;  ///< elements of a row
};

/// Returns the copies of a take or put; they overlap nowhere.
inline std::vector<CopiedRows> pieces_of(const Node& node, std::span<const TensorType> inputs,
                                         const TensorType& output) {
  const bool puts = node.op == Op::Put;
  const auto& begins = node.attributes.integers("begins");
  const auto axis = static_cast<std::size_t>(node.attributes.integer("axis"));
  const std::size_t of_each = begins.size() / inputs.size();
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < output.dims.size(); ++d) inner *= output.dims[d];
  std::vector<CopiedRows> pieces;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::int64_t whole = inputs[i / of_each].dims[axis];
    const auto count = static_cast<std::int64_t>(of_each);
    const std::int64_t length = puts ? whole / count : output.dims[axis] / count;
    const std::int64_t joined = static_cast<std::int64_t>(i % of_each) * length;
    pieces.push_back({.input = i / of_each,
                      .from = (puts ? joined : begins[i]) * inner,
                      .from_stride = whole * inner,
                      .to = (puts ? begins[i] : joined) * inner,
                      .to_stride = output.dims[axis] * inner,
                      .rows = output.elements() / (output.dims[axis] * inner),
                      .columns = length * inner});
  }
  return pieces;
}

/// Whether the pieces cover the output; elsewhere it is zero.
inline bool cover(std::span<const CopiedRows> pieces, const TensorType& output) {
  std::int64_t elements = 0;
  for (const CopiedRows& each : pieces) elements += each.rows * each.columns;
  return elements == output.elements();
}

}  // namespace regatta
