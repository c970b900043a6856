// SPDX-License-Identifier: Apache-2.0
//
// Room for threads and processes, looked for before a run needs it: libraries that get no thread
// wait without end or abort. `ulimit -u`, `ulimit -v` and pids.max of a control group limit it.
#pragma once

namespace regatta {

struct TaskNeed {
  int all = 0;           ///< threads that start on this host, those of other processes included
  int in_a_process = 0;  ///< those of one process that allocate memory
};

/// Starts as many threads and ends them. Throws: RunError(Usage) where the system refuses one, or
/// where `ulimit -v` has no room for their stacks and memory.
void require_room_for(const TaskNeed& need);

}  // namespace regatta
