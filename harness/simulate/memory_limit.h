// SPDX-License-Identifier: Apache-2.0
//
// Checks whether the planned memory of a step fits into the devices of a cluster, and finds the
// changes of the run that would make it fit.
#pragma once

#include <map>
#include <span>

#include "harness/plan/race_request.h"
#include "harness/simulate/cluster_file.h"
#include "kernels/graph/graph.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/virtual/program.h"

namespace regatta::simulate {

/// Returns the planned memory of each place, given the lanes that the cluster runs; `parts[p]` is
/// the step of process p.
std::map<Place, MemoryUse> memory_of_places(std::span<const Step> parts,
                                            const virtual_time::Cluster& cluster);

/// Returns the memory of the place that needs most. Units: bytes.
std::int64_t worst_memory(const std::map<Place, MemoryUse>& planned);

/// Returns the bytes of a device that a run may plan.
std::int64_t room_of(const virtual_time::Devices& devices);

/// Checks that each place's memory fits into a device, if the cluster has devices. Throws:
/// RunError(Device) that says how much is missing, and which flags would make it fit.
void require_memory(const ClusterFile& file, const plan::RaceRequest& request,
                    const std::map<Place, MemoryUse>& planned);

}  // namespace regatta::simulate
