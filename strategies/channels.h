// SPDX-License-Identifier: Apache-2.0
//
// Finds the layers of a model that can be divided by channels, and the part of each value and
// variable that each shard stores. Dense layers and convolutions are divided in pairs. The first of
// a pair is divided by its output channels: a shard computes some channels from all inputs. The
// second is divided by its input channels: from its own channels, a shard computes one term of each
// output. Only ops that treat each channel separately may stand between them: bias, activation,
// pooling, normalisation, depthwise convolution; or each head, which then is never divided:
// attention. Weights [P, O, I], such as those of queries, keys and values, are divided in each of
// their P matrices. Source: Shoeybi et al., arXiv:1909.08053, section 3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta::strategies {

/// The part of a value or variable that each shard stores.
enum class Portion : std::uint8_t {
  Whole,
  Channels,  ///< a share of the last dimension
  Rows,      ///< a share of the output channels of weights: the first dimension, or that behind P
  Term,      ///< a tensor with the shape of the whole, which is the sum of all shards' terms
};

struct ChannelDivision {
  /// `of_node[n]` is the part of node n's outputs that each shard stores.
  std::vector<Portion> of_node;
  /// `of_variable[v]` is the part of variable v that each shard stores.
  std::vector<Portion> of_variable;
  /// `unit_of_variable[v]` is the number of consecutive channels that stay together: those of a
  /// head, otherwise 1.
  std::vector<std::int64_t> unit_of_variable;
};

/// Divides, in the order of the forward pass, each pair of layers that can be divided by channels.
/// A node that reads a Term reads the sum of all shards' terms. `what` describes the strategy and
/// its shards in error messages. Throws: RunError(Usage) if no layer can be divided, if a layer has
/// fewer channels or heads than there are shards, or if a node cannot work on the parts of its
/// inputs.
ChannelDivision divide_channels(const Graph& graph, std::int64_t shards, const std::string& what);

struct Shard {
  std::int64_t unit = 1;  ///< consecutive channels that stay together
  std::int64_t number = 0;
  std::int64_t of = 1;  ///< number of shards
};

/// Returns the variable that holds a shard's part of `whole`, initialised with the corresponding
/// elements of `whole`.
Variable portion_of(const Variable& whole, Portion portion, const Shard& shard);

/// Adapts the attributes that count channels, `dims`, `groups` and `heads`, to a shard's part of
/// the node's outputs.
void set_channels(Attributes& attributes, Portion portion, const Shard& shard);

}  // namespace regatta::strategies
