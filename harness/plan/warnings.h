// SPDX-License-Identifier: Apache-2.0
//
// Finds valid requests that may be slower, or need more memory, than the user expects, to warn of
// them before the run starts.
#pragma once

#include <string>

#include "harness/plan/race_request.h"
#include "harness/system/machine.h"
#include "kernels/graph/graph.h"

namespace regatta::plan {

/// Returns the first warning for a request on this machine; empty if there is none. `placed` is the
/// request's graph after all strategies have placed it, before it is partitioned among processes.
std::string warning_of(const RaceRequest& request, const system::MachineFacts& machine,
                       const Graph& placed);

}  // namespace regatta::plan
