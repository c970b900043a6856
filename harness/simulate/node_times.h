// SPDX-License-Identifier: Apache-2.0
//
// The times of a cell's nodes, from the calibration of a cluster's file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/plan/race_request.h"
#include "harness/simulate/cluster_file.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// Times by process and by node of its part: kernels, and copies inside a process; others have 0.
/// Throws: RunError(Usage) like require_costs().
std::vector<std::vector<double>> node_times_ns(std::span<const Step> parts, const ClusterFile& file,
                                               const RaceRequest& request);

/// Throws: RunError(Usage) that names the first kernel without a cost, and the fix.
void require_costs(std::span<const std::string> unknown_kernels, const RaceRequest& request);

}  // namespace regatta
