// SPDX-License-Identifier: Apache-2.0
//
// Whether a run that starts its processes itself fits into the Slurm job that it is in. mpirun
// would crowd them instead.
#pragma once

#include "harness/plan/placement.h"
#include "harness/plan/race_request.h"

namespace regatta {

/// Outside of Slurm, and with `--hosts`, there is room for everything.
/// Throws: RunError(Usage) that says what is wanted, what the job has, and how to ask for more.
void require_room(const RaceRequest& request, const Placement& placement);

}  // namespace regatta
