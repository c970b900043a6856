// SPDX-License-Identifier: Apache-2.0
//
// Finds valid requests that may be slower, or need more memory, than the user expects, to warn of
// them before the run starts.
#pragma once

#include <string>

#include "harness/plan/race_request.h"
#include "harness/system/machine.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// Returns the first warning for a request on this machine; empty if there is none. `placed` is the
/// whole graph of its placed step.
std::string warning_of(const RaceRequest& request, const MachineFacts& machine,
                       const Graph& placed);

}  // namespace regatta
