// SPDX-License-Identifier: Apache-2.0
//
// A race of another program (--program): starts it, reads its events, and returns its record.
#pragma once

#include "harness/plan/race_request.h"
#include "harness/race/race.h"
#include "harness/record/record.h"

namespace regatta::contender {

/// Runs the program. If it breaks the protocol, fails, hangs or computes something else, the record
/// has the status failed. `hooks.ready` is not called. Nothing that the program has started
/// remains, even if this process is killed. Throws: RunError for errors before it starts (usage,
/// data, io).
record::Record contend(const plan::RaceRequest& request, const race::RaceHooks& hooks);

}  // namespace regatta::contender
