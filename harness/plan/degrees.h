// SPDX-License-Identifier: Apache-2.0
//
// Divides the workers of a run by degrees: the number of replicas, of stages per replica and of
// shards per stage. Their product is the number of workers.
#pragma once

#include "harness/plan/placement.h"

namespace regatta::plan {

/// Sets the degrees from `--workers` and the flags of the degrees. The first of replicas, stages
/// and shards that the strategies have takes all workers that the flags of the others leave.
/// Throws: RunError(Usage) if the product is not the number of workers.
void deal_workers(const RaceRequest& request, Placement& placement);

}  // namespace regatta::plan
