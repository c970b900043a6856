// SPDX-License-Identifier: Apache-2.0
//
// This program once more, as a child: so that a run that crashes, or is killed for memory, takes
// nothing else with it. The child dies when this process does. SIGINT and SIGTERM that this process
// gets while it waits reach the child, which then has time to end its own.
// Threads: one, which has no others beside it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace regatta {

struct ChildEnd {
  int exit_code = 0;       ///< -1 when a signal ended it
  int signal = 0;          ///< that ended it; 0: none
  int interrupted = 0;     ///< signal that this process got meanwhile; 0: none
  std::string last_error;  ///< the last line it printed on stderr
};

/// Runs this program with `arguments` and returns when it has ended. `line`: told of each line that
/// it prints. Throws: RunError(Io) when it cannot be started.
ChildEnd run_child(const std::vector<std::string>& arguments,
                   const std::function<void(const std::string&)>& line);

}  // namespace regatta
