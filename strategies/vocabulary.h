// SPDX-License-Identifier: Apache-2.0
//
// Divides the vocabulary of a language model among shards: each has some rows of the embedding
// table. A token's embedding is zero at every shard without its row, so the sum over shards is the
// row. A shard's head yields the logits of its part of the vocabulary, which are never gathered.
// Instead, each shard reduces them to three numbers for each label (graph/ops/loss.cpp). An
// all_gather of these gives every shard the loss and the log of the sum of exponentials, from which
// it computes the gradient of its own logits. For T labels and t shards, each shard sends 12 (t -
// 1) T bytes; the three all_reduces of T numbers in the paper send 24 (t - 1) / t T. Source:
// Shoeybi et al., arXiv:1909.08053, section 3.
#pragma once

#include "strategies/shards.h"

namespace regatta::strategies {

/// Replaces a node that works on a divided vocabulary, at all shards; returns false for any other.
bool replace_by_vocabulary(ShardedStep& step, NodeId id);

}  // namespace regatta::strategies
