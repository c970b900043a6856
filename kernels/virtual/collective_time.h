// SPDX-License-Identifier: Apache-2.0
//
// What one collective takes by itself: by it --all-reduce auto picks an algorithm.
#pragma once

#include <vector>

#include "kernels/graph/collective.h"
#include "kernels/virtual/cluster.h"

namespace regatta::virtual_time {

/// From when all members come, at the same time, until the last one has its result, alone on the
/// cluster. `host_of`: by process; without `part_of` all members are in process 0. Units: ns.
/// Throws: RunError(Unsupported) for an algorithm that has no schedule.
double collective_ns(const CollectiveShape& shape, const Cluster& cluster,
                     const std::vector<int>& host_of);

}  // namespace regatta::virtual_time
