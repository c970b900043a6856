// SPDX-License-Identifier: Apache-2.0
//
// A rank: a process that builds its part of the graph, joins the run of a coordinator and executes
// the coordinator's commands. It ends when the coordinator commands it or is gone.
#pragma once

#include "harness/plan/race_request.h"

namespace regatta::ranks {

/// True in a process that a coordinator started, and in a member of an existing allocation.
bool is_rank();

/// Runs this process as a rank. Returns the exit code. If the run ends early, ends the process and
/// does not return.
int serve_as_rank(const plan::RaceRequest& request);

}  // namespace regatta::ranks
