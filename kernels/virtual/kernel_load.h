// SPDX-License-Identifier: Apache-2.0
//
// The least work of a kernel. Ops with a rule for multiply-adds (products, convolutions, attention)
// count flop: 2 for each one of the direct algorithm. Bytes are the least that a kernel must move:
// its inputs, outputs and variables, where an update counts a variable twice (read and written); an
// embedding reads the rows that it writes.
#pragma once

#include "kernels/graph/graph.h"

namespace regatta::virtual_time {

struct KernelLoad {
  ElementType element = ElementType::F32;  ///< element type of its products
  double flop = 0;
  double bytes = 0;
};
KernelLoad load_of(const Graph& graph, NodeId id);

}  // namespace regatta::virtual_time
