// SPDX-License-Identifier: Apache-2.0
//
// Divides the tokens of sequences among shards: a shard computes each op that treats each token by
// itself for its own tokens, and a term of each sum over tokens, such as a gradient of weights. The
// strategy replaces ops that need the tokens of others, or their positions.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/graph/graph.h"
#include "strategies/shards.h"

namespace regatta::strategies {

/// Tokens of a sequence, and heads of its attention; zeros in a model without attention.
struct Sequences {
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
};
Sequences sequences_of(const Graph& graph);

/// Marks the terms that shards sum: those that something else than a further sum reads; for a sum
/// over replicas, its result. A loss has Portion::Tokens. `what` describes the strategy and its
/// shards. Throws: RunError(Usage) if a node cannot work on a share of the tokens.
ShardDivision divide_tokens(const Step& step, const std::string& what);

}  // namespace regatta::strategies
