// SPDX-License-Identifier: Apache-2.0
//
// Implements --all-reduce auto: for each sum whose algorithm the placed step leaves open, it picks
// the fastest algorithm for the sum's bytes, its members, and their processes and hosts. A real run
// uses the times in the file of --costs (MeasuredSum), virtual time those on the cluster. The
// coordinator picks for all processes of a run, and passes the result to them (kPickedVariable).
#pragma once

#include <string>

#include "harness/plan/placement.h"
#include "harness/plan/race_request.h"
#include "harness/record/record.h"

namespace regatta {

/// Sets `placement.picked`, unless it is already set or no sum is open. If several algorithms take
/// the same time, picks the first in the order of all_reduce_algorithms().
/// Throws: RunError(Usage, Data) for costs or a cluster that do not fit the request.
void pick_sums(const RaceRequest& request, Placement& placement);

/// Formats as `--all-reduce auto: double_tree for 1 sum of 4096 bytes, ring for 2 sums of 8192
/// bytes in all`.
std::string picked_text(const GraphRecord& graph);

}  // namespace regatta
