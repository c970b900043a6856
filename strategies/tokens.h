// SPDX-License-Identifier: Apache-2.0
//
// Divides the tokens of sequences among shards. Ops that treat each token separately run on a
// shard's own tokens. A sum over tokens, such as a gradient of weights, becomes a term at each
// shard. The strategy replaces ops that need the tokens of other shards, or their positions.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/graph/graph.h"
#include "strategies/shards.h"

namespace regatta::strategies {

/// The shares of a sequence that all shards have.
struct EqualShares {
  std::int64_t chunks = 1;  ///< chunks, equally long, in each share
  enum class Divide : std::uint8_t { Tokens, TokensAndHeads } divide = Divide::Tokens;
};

/// Checks that the model has sequences, and that shards can have equal shares of them. `what`
/// describes the strategy and its shards. Throws: RunError(Usage); the message says which numbers
/// of shards are possible.
void require_equal_shares(const Graph& graph, std::int64_t shards, const EqualShares& shares,
                          const std::string& what);

/// Marks the terms that shards sum: those that a node other than a sum reads. If terms are summed
/// over replicas, marks the result. A loss has Portion::Tokens. `what` describes the strategy and
/// its shards. Throws: RunError(Usage) if a node cannot work on a share of the tokens.
ShardDivision divide_tokens(const Step& step, const std::string& what);

}  // namespace regatta::strategies
