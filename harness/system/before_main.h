// SPDX-License-Identifier: Apache-2.0
//
// The surroundings that libraries change or obey before main() begins. This file looks at them
// first.
//
// SIGHUP, which nohup has ignored: UCX, below Open MPI 5, catches it for its debug mode
// (UCX_DEBUG_SIGNO), so that the end of a terminal ended the run.
// Closed standard streams: the next pipe or socket would be opened in their place and would get the
// program's output.
// Variables of OpenMP that bind threads or make teams smaller: libgomp would bind the first thread
// to one core, from which the program would take that core for the machine. Regatta gives each
// thread its core and each team its size itself, so libgomp does not see these variables. Records
// and child processes do.
#pragma once

namespace regatta {

/// Restores the surroundings, at the begin of main(). Ignores SIGHUP where it was ignored when this
/// program was started. Lets SIGHUP, SIGINT and SIGTERM end a process 1, for which the kernel has
/// no default action.
void restore_surroundings();

/// Dies of a signal. Threads: any; handlers may call it.
[[noreturn]] void end_by(int signal);

}  // namespace regatta
