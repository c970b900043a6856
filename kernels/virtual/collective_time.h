// SPDX-License-Identifier: Apache-2.0
//
// The time of one collective alone, by which --all-reduce auto picks an algorithm.
#pragma once

#include <vector>

#include "kernels/graph/collective.h"
#include "kernels/virtual/cluster.h"

namespace regatta::virtual_time {

/// Returns the time from the simultaneous arrival of all members until the last has its result,
/// alone on the cluster. `host_of`: by process; without `part_of` all members are in process 0.
/// Units: ns. Throws: RunError(Unsupported) for an algorithm that has no schedule.
double collective_ns(const CollectiveShape& shape, const Cluster& cluster,
                     const std::vector<int>& host_of);

}  // namespace regatta::virtual_time
