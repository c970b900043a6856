// SPDX-License-Identifier: Apache-2.0
//
// A rewrite that makes fewer passes over memory: a normalisation or bias becomes one op with the
// activation, the pooling and the residual sum next to it, and so do their backward nodes.
#pragma once

#include "kernels/graph/graph.h"

namespace regatta {

/// Replaces what matches, largest patterns first (values are used by nothing else but by the
/// pattern's own backward nodes; places are the same):
///   [max_pool] normalize [relu | gelu] [max_pool | add]    with its backward nodes, if any
///   [max_pool] normalize_inference [relu | gelu] [max_pool | add]
///   bias (relu | gelu)                                     with its backward nodes, if any
/// Windows of such a max_pool do not overlap and are not padded. Everything else stays as it is.
/// The step computes the same but for rounding between the ops (ops/fused.cpp); it may be dealt to
/// replicas and stages like any other.
Step fuse(const Step& step);

}  // namespace regatta
