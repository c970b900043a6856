// SPDX-License-Identifier: Apache-2.0
//
// A rank: a process that builds its part of the graph, joins the run of a coordinator, executes the
// coordinator's commands and ends at its command or when the coordinator is gone.
#pragma once

#include "harness/plan/race_request.h"

namespace regatta {

/// True in a process that a coordinator started, and in a member of an existing allocation.
bool is_rank();

/// Runs the rank. Returns the exit code; ends the process directly if the run ends early.
int serve_as_rank(const RaceRequest& request);

}  // namespace regatta
