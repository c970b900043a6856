// SPDX-License-Identifier: Apache-2.0
//
// Computes the reference of a dump: the first steps of `single`, and how far rounding leads them.
// Another framework adds up in another order, and in bf16 rounds other values, so its losses differ
// by rounding, which grows from step to step and depends on model, batch and type. The bounds are
// therefore measured in the very cell: the same steps run again from first weights that are
// multiplied, each, by 1 + r or 1 - r, and a proof may differ kTimes as much.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/contender/proof.h"
#include "harness/plan/placement.h"
#include "harness/plan/race_request.h"
#include "kernels/data/data_set.h"

namespace regatta::contender {

/// Trains the placed step, which is of one replica, for the proven steps. The result lacks digests.
Reference reference_of(const plan::RaceRequest& request, const plan::Placement& placement,
                       const DataSet& train);

}  // namespace regatta::contender
