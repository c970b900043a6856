// SPDX-License-Identifier: Apache-2.0
//
// An allocation that exists already: the user ran `mpirun -np P regatta run ...`, or Slurm did so.
// Rank 0 is the coordinator and starts the process that is rank 0 to MPI; that one tells the others
// by MPI where the coordinator is.
#pragma once

#include <memory>

#include "kernels/comm/mpi/mpi_session.h"

namespace regatta {

/// Processes of the allocation that this one was started in; 0: in none, or by a coordinator.
int allocated_processes();

/// True in all of them but the coordinator.
bool is_member_of_allocation();

/// In a member and in what the coordinator has started: the session with all others, and this
/// process' environment as a coordinator would have set it. Elsewhere null.
std::unique_ptr<MpiSession> join_allocation();

}  // namespace regatta
