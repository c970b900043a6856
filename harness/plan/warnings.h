// SPDX-License-Identifier: Apache-2.0
//
// Warnings before a run starts: the request is valid, but may be slower or larger than the
// user expects.
#pragma once

#include <string>

#include "harness/plan/race_request.h"
#include "harness/system/machine.h"

namespace regatta {

/// The first warning for a request on this machine; empty if there is none.
/// Throws: like place().
std::string warning_of(const RaceRequest& request, const MachineFacts& machine);

}  // namespace regatta
