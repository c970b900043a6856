// SPDX-License-Identifier: Apache-2.0
//
// Messages between stages whose shards all have the same activation: each shard sends one of t
// parts to the shard of its number in the next stage, whose shards gather them. A shard so sends
// 1 / t of an activation over the link between hosts, and its stage gathers it over the links
// inside one. Source: Narayanan et al., arXiv:2104.04473, section 4.1 (scatter/gather).
#pragma once

#include "kernels/graph/graph.h"

namespace regatta::strategies {

/// Returns the step with each activation [B, S, C] that another stage reads, and that is equal at
/// all shards, sent in parts. Called after microbatches have their shapes. Throws: RunError(Usage)
/// if there is no such activation.
Step scatter_messages(const Step& step);

}  // namespace regatta::strategies
