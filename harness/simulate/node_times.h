// SPDX-License-Identifier: Apache-2.0
//
// Finds the time of each node of a cell's step in the calibration to which a cluster's file refers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/plan/race_request.h"
#include "harness/simulate/cluster_file.h"
#include "kernels/graph/graph.h"

namespace regatta::simulate {

/// Returns the times: element [p][n] is that of node n in `parts[p]`, the step of process p. A node
/// that neither computes nor copies inside a process has 0. Units: ns. Throws: RunError(Usage) like
/// require_costs().
std::vector<std::vector<double>> node_times_ns(std::span<const Step> parts, const ClusterFile& file,
                                               const plan::RaceRequest& request);

/// Checks that every kernel has a cost. `unknown_kernels` are the keys of those without. Throws:
/// RunError(Usage) that names the first of them, and the remedy.
void require_costs(std::span<const std::string> unknown_kernels, const plan::RaceRequest& request);

}  // namespace regatta::simulate
