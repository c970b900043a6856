// SPDX-License-Identifier: Apache-2.0
//
// Checks that threads and processes can start before a run needs them: libraries that get no thread
// hang or abort. Limits: `ulimit -u`, `ulimit -v` and pids.max of a control group.
#pragma once

namespace regatta {

struct TaskNeed {
  int all = 0;           ///< threads started on this host, including those of other processes
  int in_a_process = 0;  ///< threads of one process that allocate memory
};

/// Starts as many threads and ends them. Throws: RunError(Usage) if the system refuses one, or if
/// `ulimit -v` has no room for their stacks and memory.
void require_room_for(const TaskNeed& need);

}  // namespace regatta
