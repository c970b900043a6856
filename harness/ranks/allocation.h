// SPDX-License-Identifier: Apache-2.0
//
// Runs inside an existing allocation: a user or a Slurm job ran `mpirun -np P regatta run ...`. The
// process with rank 0 becomes the coordinator and starts one more process, which is rank 0 to MPI.
// That process sends the coordinator's address to the other ranks by MPI.
#pragma once

#include <memory>

#include "kernels/comm/mpi/mpi_session.h"

namespace regatta {

/// Processes in the allocation of this process; 0 in no allocation, or if a coordinator started it.
int allocated_processes();

/// True in every process of an allocation except the coordinator.
bool is_member_of_allocation();

/// Joins the MPI session of an allocation and sets the environment variables that a coordinator
/// sets for its ranks. For members of the allocation and the rank 0 that the coordinator started;
/// returns null in all other processes.
std::unique_ptr<MpiSession> join_allocation();

}  // namespace regatta
