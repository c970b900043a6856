// SPDX-License-Identifier: Apache-2.0
//
// The least work of a kernel. Ops with a rule for multiply-adds (products, convolutions, attention)
// count 2 flop for each multiply-add of the direct algorithm. Bytes are those of inputs, outputs
// and variables. An update counts a variable twice (read and written); an embedding reads only the
// rows that it writes.
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
