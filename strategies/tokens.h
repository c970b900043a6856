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

/// The shares of a sequence that all shards have.
struct EqualShares {
  std::int64_t chunks = 1;  ///< equally long parts of the sequence in each share
  enum class Divide : std::uint8_t { Tokens, TokensAndHeads } divide = Divide::Tokens;
};

/// Checks that the model has sequences, and that shards can have equal shares of them. `what`
/// describes the strategy and its shards. Throws: RunError(Usage); the message says which numbers
/// of shards are possible.
void require_equal_shares(const Graph& graph, std::int64_t shards, const EqualShares& shares,
                          const std::string& what);

/// Marks the terms that shards sum: those that something else than a further sum reads; for a sum
/// over replicas, its result. A loss has Portion::Tokens. `what` describes the strategy and its
/// shards. Throws: RunError(Usage) if a node cannot work on a share of the tokens.
ShardDivision divide_tokens(const Step& step, const std::string& what);

}  // namespace regatta::strategies
