// SPDX-License-Identifier: Apache-2.0
//
// Finds the layers of a model that can be divided by channels, and the part of each value and
// variable that each shard stores. Dense layers and convolutions are divided in pairs. The first of
// a pair is divided by its output channels: a shard computes some channels from all inputs. The
// second is divided by its input channels: from its own channels, a shard computes one term of each
// output. Only ops that treat each channel separately may stand between them: bias, activation,
// pooling, normalisation, depthwise convolution; or each head, which then is never divided:
// attention. Weights [P, O, I], such as those of queries, keys and values, are divided in each of
// their P matrices. A head whose weights are the table of the embedding is divided by its rows, the
// tokens of the vocabulary, and the loss after it takes divided logits. Source: Shoeybi et al.,
// arXiv:1909.08053, section 3.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/graph/graph.h"
#include "strategies/shards.h"

namespace regatta::strategies {

/// Divides, in the order of the forward pass, each pair of layers that can be divided by channels.
/// A node that reads a Term reads the sum of all shards' terms. `what` describes the strategy and
/// its shards in error messages. Throws: RunError(Usage) if no layer can be divided, if a layer has
/// fewer channels or heads than there are shards, or if a node cannot work on the parts of its
/// inputs.
ShardDivision divide_channels(const Graph& graph, std::int64_t shards, const std::string& what);

}  // namespace regatta::strategies
