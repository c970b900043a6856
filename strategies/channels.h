// SPDX-License-Identifier: Apache-2.0
//
// Finds the layers of a model that can be divided by channels, and the part of each value and
// variable that a shard has. Dense layers and convolutions are divided in pairs: the first by its
// output channels, so that a shard computes some channels from all inputs; the second by its input
// channels, so that a shard computes one term of each output from the channels that it has. The ops
// between them work channel by channel: bias, activation, pooling, normalisation, depthwise
// convolution. Source: Shoeybi et al., arXiv:1909.08053, section 3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

/// The part of a value or variable that each shard has.
enum class Portion : std::uint8_t {
  Whole,
  Channels,  ///< a share of the last dimension
  Rows,      ///< a share of the first dimension: the output channels of weights
  Term,      ///< a tensor of the whole's shape; the whole is the sum of all shards' terms
};

struct ChannelDivision {
  std::vector<Portion> of_node;      ///< part of all outputs, by node
  std::vector<Portion> of_variable;  ///< by variable
};

/// Divides, in the order of the forward pass, every layer that a second one can follow in this way.
/// A node that reads a Term reads the whole. `what`: the strategy and its shards, for error
/// messages. Throws: RunError(Usage) if no layer can be divided, if a layer has fewer channels than
/// there are shards, or if a node cannot work on the parts of its inputs.
ChannelDivision divide_channels(const Graph& graph, std::int64_t shards, const std::string& what);

struct Shard {
  std::int64_t number = 0;
  std::int64_t of = 1;  ///< number of shards
};

/// Returns a shard's part of a whole variable. Its first values are those of the whole.
Variable portion_of(const Variable& whole, Portion portion, const Shard& shard);

/// Adapts a node's attributes about channels to a shard's part of its outputs.
void set_channels(Attributes& attributes, Portion portion, const Shard& shard);

}  // namespace regatta
