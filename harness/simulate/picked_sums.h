// SPDX-License-Identifier: Apache-2.0
//
// What --all-reduce auto picks: for each sum that the placed step leaves open, the algorithm that
// takes it the least time, by its bytes, its members, and the processes and hosts that they are in.
// Of a real run by what --costs says that such sums took (MeasuredSum), in virtual time by what
// they take on the cluster. The process that asks picks for all of a run, and tells the others
// (kPickedVariable).
#pragma once

#include <string>

#include "harness/plan/placement.h"
#include "harness/plan/race_request.h"
#include "harness/record/record.h"

namespace regatta {

/// Leaves a placement alone that has picks, or no open sums. Of algorithms that take the same time
/// the first of all_reduce_algorithms() is picked.
/// Throws: RunError(Usage, Data): costs or a cluster that do not fit.
void pick_sums(const RaceRequest& request, Placement& placement);

/// `--all-reduce auto: double_tree for 1 sum of 4096 bytes, ring for 2 sums of 8192 bytes in all`.
std::string picked_text(const GraphRecord& graph);

}  // namespace regatta
