// SPDX-License-Identifier: Apache-2.0
//
// What the nodes of a cell take by the calibration of a cluster's file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/plan/race_request.h"
#include "harness/simulate/cluster_file.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// By process and by node of its part: kernels, and copies inside a process; 0 for all others.
/// Throws: RunError(Usage, Unsupported) as require_costs() and require_device().
std::vector<std::vector<double>> node_times_ns(std::span<const Step> parts, const ClusterFile& file,
                                               const RaceRequest& request);

/// What `regatta calibrate` measures are kernels of a CPU; those of a GPU are written by hand.
/// Throws: RunError(Unsupported) for a device whose costs the calibration does not have.
void require_device(const Calibration& calibration, const RaceRequest& request);

/// Throws: RunError(Usage) that names the first kernel without a cost, and what measures it.
void require_costs(std::span<const std::string> unknown_kernels, const RaceRequest& request);

}  // namespace regatta
