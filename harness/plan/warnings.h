// SPDX-License-Identifier: Apache-2.0
//
// What a run is warned of before it begins: it runs as asked for, but not as one may expect.
#pragma once

#include <string>

#include "harness/plan/race_request.h"
#include "harness/system/machine.h"

namespace regatta {

/// Empty where there is nothing to warn of.
std::string warning_of(const RaceRequest& request, const MachineFacts& machine);

}  // namespace regatta
