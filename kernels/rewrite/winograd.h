// SPDX-License-Identifier: Apache-2.0
//
// Chooses the convolutions that are computed by Winograd's algorithm F(4 x 4, 3 x 3): 36 products
// for a tile of 4 x 4 pixels where the direct sum takes 144 (Lavin & Gray 2015, arXiv:1509.09308).
// Its rounding differs from the direct sum's, so kernels do not choose it themselves: a rewrite
// marks nodes, and ranks compare the marks as part of the graph. The rule depends only on the
// numbers of channels and the image sides, not on measured times, the batch or the number of
// threads, so that every strategy, process and share of a batch gets the same choice. A strategy
// that divides channels changes which convolutions become faster, so nodes are marked after all
// strategies.
#pragma once

#include "kernels/graph/graph.h"

namespace regatta {

/// Whether Winograd's algorithm, including its transforms, is faster for this node than direct
/// convolution: the window is 3 x 3, stride and padding are 1, there is one group, and there are
/// enough channels for the element type (winograd.cpp).
bool gains_by_winograd(const Graph& graph, NodeId id);

/// Returns the step with a mark on every forward and backward convolution for which
/// gains_by_winograd() is true.
Step by_winograd(const Step& step);

/// Marks the node even if gains_by_winograd() is false. It must be a forward or backward
/// 3x3 convolution with stride 1, padding 1, one group and at least 16 channels in both x and y.
void mark_for_winograd(Node& node);

bool is_by_winograd(const Node& node);

/// Whether any node of the graph is marked.
bool has_winograd(const Graph& graph);

}  // namespace regatta
