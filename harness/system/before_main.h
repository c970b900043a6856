// SPDX-License-Identifier: Apache-2.0
//
// Protects state that libraries change or read before main() begins, by inspecting it even earlier.
//
// SIGHUP, if nohup ignores it: UCX, below Open MPI 5, catches it for its debug mode
// (UCX_DEBUG_SIGNO), so a closed terminal would end the run.
// Closed standard streams: the next pipe or socket would be opened in their place and would receive
// the program's output.
// Variables of OpenMP that bind threads or make teams smaller: libgomp would bind the first thread
// to one core, which the program would then take for the whole machine. Regatta sets each thread's
// core and each team's size itself, so libgomp does not see these variables. Records and child
// processes do.
#pragma once

namespace regatta {

/// Restores the state at the beginning of main(). Ignores SIGHUP if it was ignored when the program
/// started. Lets SIGHUP, SIGINT and SIGTERM end a process 1, for which the kernel has no default
/// action.
void restore_surroundings();

/// Ends this process by a signal. Threads: any; signal handlers may call it.
[[noreturn]] void end_by(int signal);

}  // namespace regatta
