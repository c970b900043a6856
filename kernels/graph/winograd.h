// SPDX-License-Identifier: Apache-2.0
//
// Which convolutions are computed by Winograd's algorithm F(4 x 4, 3 x 3): 36 products where the
// direct sum takes 144, for tiles of 4 x 4 pixels (Lavin & Gray 2015, arXiv:1509.09308). It rounds
// otherwise than the direct sum, so it is not a kernel's own choice: a rewrite marks nodes, and the
// mark is part of the graph that ranks compare.
// The rule reads channels and sides alone, never a time, the batch or the number of threads: every
// strategy, process and share of a batch goes the same way.
#pragma once

#include "kernels/graph/graph.h"

namespace regatta {

/// Where it is faster with everything that it needs around it: window 3 x 3, stride 1, padding 1,
/// one group, and enough channels for its element type (winograd.cpp).
bool gains_by_winograd(const Graph& graph, NodeId id);

/// The step with every node marked that gains, forward and backward.
Step by_winograd(const Step& step);

/// Has the node computed so, whether it gains or not. It is a convolution, forward or backward, of
/// window 3 x 3, stride 1, padding 1, one group and at least 16 channels of x and of y.
void mark_for_winograd(Node& node);

bool is_by_winograd(const Node& node);

/// Whether any node is marked.
bool has_winograd(const Graph& graph);

}  // namespace regatta
