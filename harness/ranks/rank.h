// SPDX-License-Identifier: Apache-2.0
//
// A process of a run that another process coordinates: builds its part of the graph, joins, does
// what it is told and ends when told so, or when the coordinator is gone.
#pragma once

#include "harness/plan/race_request.h"

namespace regatta {

/// True in a process that a coordinator has started, or that waits for one in an allocation.
bool is_rank();

/// Returns the exit code. Ends the process itself when the run has to end early.
int serve_as_rank(const RaceRequest& request);

}  // namespace regatta
