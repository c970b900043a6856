// SPDX-License-Identifier: Apache-2.0
//
// A rewrite that runs after all strategies: merges all_reduces with the same members into buckets,
// so that many small gradients travel as one message. The layout depends only on the graph and the
// bucket size.
// All_reduces with different attributes `unit` are never merged.
#pragma once

#include <cstdint>

#include "kernels/graph/graph.h"

namespace regatta {

/// Merges consecutive collectives until each bucket has at least `bucket_bytes`.
/// Units: bytes; 0 merges none.
Step bucket(const Step& step, std::int64_t bucket_bytes);

}  // namespace regatta
