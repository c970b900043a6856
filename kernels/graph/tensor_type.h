// SPDX-License-Identifier: Apache-2.0
//
// A tensor type: element type and dimensions, slowest first. Images are [B, H, W, C].
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace regatta {

enum class ElementType : std::uint8_t { F32, BF16, U8, I32 };

/// Returns the size of one element. Units: bytes.
std::int64_t size_of(ElementType element);

/// Returns `f32`, `bf16`, `u8` or `i32`.
std::string_view to_string(ElementType element);

struct TensorType {
  ElementType element = ElementType::F32;
  std::vector<std::int64_t> dims;  ///< slowest first; empty is a scalar

  std::int64_t elements() const;
  std::int64_t bytes() const { return elements() * size_of(element); }
  std::int64_t dim(std::size_t index) const { return dims.at(index); }
  std::size_t rank() const { return dims.size(); }
  // The tensor as a matrix whose rows run along the last dimension.
  std::int64_t rows() const { return elements() / dims.back(); }
  std::int64_t columns() const { return dims.back(); }
  bool operator==(const TensorType&) const = default;
};

/// Returns text such as `f32[50,5]`.
std::string to_string(const TensorType& type);

}  // namespace regatta
