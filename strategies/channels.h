// SPDX-License-Identifier: Apache-2.0
//
// Which layers of a model can be divided by channels, and what a shard then has of each value and
// variable. Dense layers and convolutions are divided two by two: the first by its output channels,
// so that a shard computes some channels from all inputs; the second by its input channels, so that
// a shard computes a term of each output from the channels that it has. Between them stands what
// works channel by channel: bias, activation, pooling, normalisation, depthwise convolution.
// Source: Shoeybi et al., arXiv:1909.08053, section 3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

/// What each shard has of a value or variable.
enum class Portion : std::uint8_t {
  Whole,
  Channels,  ///< a share of the last dimension
  Rows,      ///< a share of the first dimension: the output channels of weights
  Term,      ///< as large as the whole, which is the sum of all shards' terms
};

struct ChannelDivision {
  std::vector<Portion> of_node;      ///< of all its outputs, by node
  std::vector<Portion> of_variable;  ///< by variable
};

/// Divides, in the order of the forward pass, every layer that another can follow so. Who reads a
/// Term reads the whole. `what`: the strategy and its shards, for error messages.
/// Throws: RunError(Usage) where no layer can be divided, where one has fewer channels than there
/// are shards, and where a node cannot work on what its inputs are divided into.
ChannelDivision divide_channels(const Graph& graph, std::int64_t shards, const std::string& what);

struct Shard {
  std::int64_t number = 0;
  std::int64_t of = 1;  ///< shards
};

/// A shard's part of a whole variable. Its first values are those of the whole.
Variable portion_of(const Variable& whole, Portion portion, const Shard& shard);

/// What a node's attributes say of channels, for a shard's part of its outputs.
void set_channels(Attributes& attributes, Portion portion, const Shard& shard);

}  // namespace regatta
