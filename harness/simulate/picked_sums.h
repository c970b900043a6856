// SPDX-License-Identifier: Apache-2.0
//
// Implements --all-reduce auto: for each sum that the placed step leaves open, it picks the
// algorithm with the least time for its bytes, its members, and their processes and hosts. In a
// real run times are those measured in the file of --costs (MeasuredSum), in virtual time those on
// the cluster. The process that asks picks for all of a run, and passes the result to the others
// (kPickedVariable).
#pragma once

#include <string>

#include "harness/plan/placement.h"
#include "harness/plan/race_request.h"
#include "harness/record/record.h"

namespace regatta {

/// Sets `placement.picked`, unless it is set or no sum is open. If several algorithms take the same
/// time, the first of all_reduce_algorithms() is picked.
/// Throws: RunError(Usage, Data) for costs or a cluster that do not fit.
void pick_sums(const RaceRequest& request, Placement& placement);

/// Formats as `--all-reduce auto: double_tree for 1 sum of 4096 bytes, ring for 2 sums of 8192
/// bytes in all`.
std::string picked_text(const GraphRecord& graph);

}  // namespace regatta
