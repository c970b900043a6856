// SPDX-License-Identifier: Apache-2.0
//
// A rewrite that reduces passes over memory: it merges a normalisation or bias with the adjacent
// activation, pooling and residual sum into one op, and their backward nodes in the same way.
#pragma once

#include "kernels/graph/graph.h"

namespace regatta {

/// Replaces every match of a pattern with a fused node, larger patterns first. All nodes of a match
/// are at one place, and only the match and its backward nodes use its intermediate values:
///   [max_pool] normalize [relu | gelu] [max_pool | add]    with its backward nodes, if any
///   [max_pool] normalize_inference [relu | gelu] [max_pool | add]
///   bias (relu | gelu)                                     with its backward nodes, if any
/// Windows of a fused max_pool do not overlap and are not padded. The result differs from the
/// original step only by rounding between the ops (ops/fused.cpp). Strategies may be applied to a
/// fused step.
Step fuse(const Step& step);

}  // namespace regatta
