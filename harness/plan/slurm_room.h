// SPDX-License-Identifier: Apache-2.0
//
// Checks that a run which starts its own processes fits into its Slurm job. Without this check
// mpirun would put several processes on one core.
#pragma once

#include "harness/plan/placement.h"
#include "harness/plan/race_request.h"

namespace regatta::plan {

/// Checks that the Slurm job is large enough for the run's processes and cores. Does nothing
/// outside of Slurm or with `--hosts`. Throws: RunError(Usage) if the job is too small; the message
/// gives the size needed, the job's size and the remedy.
void require_room(const RaceRequest& request, const Placement& placement);

}  // namespace regatta::plan
