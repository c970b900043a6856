// SPDX-License-Identifier: Apache-2.0
//
// Checks before a run that its threads and processes can be started, because libraries that cannot
// start a thread hang or abort. The limits are `ulimit -u`, `ulimit -v` and pids.max of a control
// group.
#pragma once

namespace regatta::system {

struct TaskNeed {
  int all = 0;           ///< threads that the run starts on this host, in all processes
  int in_a_process = 0;  ///< threads of one process that allocate memory
};

/// Starts `need.all` threads and ends them. Throws: RunError(Usage) if the system refuses a thread,
/// or if `ulimit -v` has no room for the stacks and memory of `need.in_a_process` threads.
void require_room_for(const TaskNeed& need);

}  // namespace regatta::system
