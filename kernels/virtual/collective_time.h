// SPDX-License-Identifier: Apache-2.0
//
// Computes the time of one collective, from which --all-reduce auto chooses an algorithm.
#pragma once

#include <vector>

#include "kernels/graph/collective.h"
#include "kernels/virtual/cluster.h"

namespace regatta::virtual_time {

/// Returns the time from the simultaneous arrival of all members until the last member has its
/// result, with no other traffic on the cluster. `host_of[p]` is the host of process p; if
/// `shape.part_of` is empty, all members are in process 0. Units: ns. Throws: RunError(Unsupported)
/// for an algorithm that has no schedule.
double collective_ns(const CollectiveShape& shape, const Cluster& cluster,
                     const std::vector<int>& host_of);

}  // namespace regatta::virtual_time
