// SPDX-License-Identifier: Apache-2.0
//
// Divides the vocabulary of a language model among shards: each has some rows of the table. The
// embedding of a token is zero at all shards but the one that has its row, so that their sum is the
// row. The head yields the logits of a shard's tokens; they are never gathered. Each shard reduces
// them to three numbers of each label (graph/ops/loss.cpp), an all_gather of these gives every
// shard the loss and the log of the sum of exponentials, and with it the gradient of its own
// logits. For T labels and t shards, each shard sends 12 (t - 1) T bytes; the three all_reduces of
// T numbers in the paper send 24 (t - 1) / t T. Source: Shoeybi et al., arXiv:1909.08053,
// section 3.
#pragma once

#include "strategies/shards.h"

namespace regatta::strategies {

/// Replaces a node that works on a divided vocabulary, at all shards; returns false for any other.
bool replace_by_vocabulary(ShardedStep& step, NodeId id);

}  // namespace regatta::strategies
