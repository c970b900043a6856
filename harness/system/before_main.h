// SPDX-License-Identifier: Apache-2.0
//
// Protects state that libraries change or read before main() begins. The code runs before the
// libraries' initialisers:
//
// SIGHUP, if nohup ignores it: UCX, which Open MPI 5 uses, catches SIGHUP for its debug mode
// (UCX_DEBUG_SIGNO), so a closed terminal would end the run. Closed standard streams: the next pipe
// or socket would be opened in their place and would receive the program's output. OpenMP's
// environment variables that bind threads or make teams smaller: libgomp would bind the first
// thread to one core, which the program would then take for the whole machine. Regatta sets each
// thread's core and each team's size itself, so it hides these variables from libgomp, but not from
// records and child processes. A processor that the program is not compiled for would end it by
// SIGILL: it ends with a message.
#pragma once

namespace regatta::system {

/// Undoes the changes that protected the state. Called at the beginning of main(). Ignores SIGHUP
/// if it was ignored when the program started. If this is process 1 (in a container), makes SIGHUP,
/// SIGINT and SIGTERM end it, because the kernel applies no default action to process 1.
void restore_surroundings();

/// Ends this process as an uncaught `signal` would. Threads: any; signal handlers may call it.
[[noreturn]] void end_by(int signal);

}  // namespace regatta::system
