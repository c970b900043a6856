// SPDX-License-Identifier: Apache-2.0
//
// Deals the workers of a run: their number is the product of the degrees, which are the numbers of
// replicas, of stages of a replica, and of shards of a stage.
#pragma once

#include "harness/plan/placement.h"

namespace regatta::plan {

/// Splits `--workers` into replicas, stages and shards. The first of these that the strategies have
/// takes the workers that the flags of the others leave. Throws: RunError(Usage) if the product of
/// the degrees is another number.
void deal_workers(const RaceRequest& request, Placement& placement);

}  // namespace regatta::plan
