// SPDX-License-Identifier: Apache-2.0
//
// Sequence parallelism: between the layers that are divided by channels, each shard has only some
// of the tokens, rows of [B S, C]. Terms that ops of single tokens read (normalisation, residual
// sum) are summed by a reduce_scatter instead of an all_reduce. An all_gather collects the rows for
// a layer that is divided by its outputs, and again backward for the gradient of its weights, so
// that the rows need not be kept. A reduce_scatter and an all_gather send as many bytes as an
// all_reduce; the second all_gather is extra. Gradients of gains are terms. Positions are added to
// one shard's term of the embedding. Source: Korthikanti et al., arXiv:2205.05198, section 4.2.2.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "strategies/shards.h"

namespace regatta::strategies {

/// Divides among shards the tokens of the values that `division` leaves whole and that only ops of
/// single tokens compute. `what` describes the strategy and its shards in error messages. Throws:
/// RunError(Usage) if there are none, or if shards do not divide the tokens of a sequence.
ShardDivision divide_sequence(const Graph& graph, ShardDivision division, std::int64_t shards,
                              const std::string& what);

/// Exchanges the rows of a divide_sequence() division.
class TokenExchange {
 public:
  explicit TokenExchange(ShardedStep& step);

  /// Maps the node's inputs to rows or to whole values, as it reads them. Called before the node is
  /// copied or replaced.
  void prepare(NodeId id);
  /// Replaces a node that works on a term; returns false for any other.
  bool replace(NodeId id);
  /// Sums the terms, by reduce_scatter if rows are read.
  void join(Value value, const std::vector<Value>& terms);

 private:
  Portion portion_of_first(NodeId id) const;
  const std::vector<Value>& whole(Value value, Phase phase);

  ShardedStep& step_;
  std::set<Value> read_as_rows_;                                 ///< terms
  std::set<Value> read_as_terms_;                                ///< terms
  std::map<Value, std::vector<Value>> rows_;                     ///< by shard
  std::map<std::pair<Value, Phase>, std::vector<Value>> whole_;  ///< gathered, by shard
};

}  // namespace regatta::strategies
