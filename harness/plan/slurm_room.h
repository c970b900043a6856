// SPDX-License-Identifier: Apache-2.0
//
// Checks that a run which starts its own processes fits into its Slurm job. mpirun would put
// several on one core instead.
#pragma once

#include "harness/plan/placement.h"
#include "harness/plan/race_request.h"

namespace regatta {

/// Does nothing outside of Slurm or with `--hosts`.
/// Throws: RunError(Usage) if the job is too small; the text has the need, the job's size and the
/// fix.
void require_room(const RaceRequest& request, const Placement& placement);

}  // namespace regatta
