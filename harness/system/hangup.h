// SPDX-License-Identifier: Apache-2.0
//
// SIGHUP, which nohup has ignored. Libraries change that before main() begins: UCX, below Open MPI
// 5, catches it for its debug mode (UCX_DEBUG_SIGNO), so that the end of a terminal ended the run.
#pragma once

namespace regatta {

/// Ignores SIGHUP where it was ignored when this program was started.
void keep_hangup_ignored();

}  // namespace regatta
