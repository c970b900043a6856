// SPDX-License-Identifier: Apache-2.0
//
// Blocks of tokens as examples of a language model: the input is `context` tokens of a block, the
// target is the token that follows each of them.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>

#include "kernels/data/data_set.h"

namespace regatta::workloads {

/// The sequences that a workload reads; zeros if its examples are no sequences.
struct Sequences {
  std::int64_t context = 0;     ///< tokens of an example
  std::int64_t vocabulary = 0;  ///< tokens are below it
  auto operator<=>(const Sequences&) const = default;
};

/// The places of blocks among tokens: block i is tokens i * stride … i * stride + context.
struct Blocks {
  std::int64_t context = 0;
  std::int64_t stride = 0;
};

/// Returns the number of whole blocks among `tokens` tokens.
constexpr std::int64_t count_of(const Blocks& blocks, std::int64_t tokens) {
  return tokens <= blocks.context ? 0 : (tokens - blocks.context - 1) / blocks.stride + 1;
}

/// Returns all whole blocks as examples. Shapes: inputs and targets i32 [blocks, context].
DataSet cut_into_blocks(const std::string& name, std::span<const std::int32_t> tokens,
                        const Blocks& blocks);

}  // namespace regatta::workloads
