// SPDX-License-Identifier: Apache-2.0
//
// Computes activations again in the backward pass, so that they need no memory between the passes.
// A copy of a forward node stands before the first backward node that needs it, and belongs to the
// backward pass. It computes the same bits; a copied normalisation leaves running statistics alone.
// Values from other places stay, because a copy would have to be sent again, but for sums of shards
// where they are asked for (Megatron-LM's full recomputation).
// Blocks: the forward nodes of a place (of each microbatch) are cut where only one value crosses.
// Neighbours are joined so that the values that cross between blocks, which stay, plus the largest
// block need the least memory. Source: Chen et al., arXiv:1604.06174.
#pragma once

#include <cstdint>

#include "kernels/graph/graph.h"

namespace regatta::strategies {

enum class Recomputed : std::uint8_t {
  Cheap,   ///< nodes whose bytes cost more than their multiply-adds (traffic.h), which products of
           ///< wide layers do not, and for which no other value has to stay. Term: selective
           ///< recomputation. Source: Korthikanti et al., arXiv:2205.05198.
  Blocks,  ///< all nodes of a block, unless its own backward pass follows at once
  BlocksAndSums  ///< these and the sums of shards in them, which are exchanged again
};

/// Throws: RunError(Usage) if there is nothing to recompute.
Step recompute(const Step& step, Recomputed which);

}  // namespace regatta::strategies
