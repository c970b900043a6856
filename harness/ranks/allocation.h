// SPDX-License-Identifier: Apache-2.0
//
// Runs whose processes were started from outside: `mpirun -np P regatta run ...`, or Slurm's `srun
// --mpi=pmix -n P regatta run ...`. The process with rank 0 becomes the coordinator and starts one
// more process, which is rank 0 to MPI. That process sends the coordinator's address to the other
// ranks by MPI.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/ranks/open_mpi.h"
#include "kernels/comm/mpi/mpi_session.h"

namespace regatta {

/// The number of processes in this process's allocation; 0 if it has none, or if a coordinator
/// started it.
int allocated_processes();

/// This process's number in its run, from mpirun, else from srun. Among srun's variables only
/// PMIx's is trusted, because under mpirun each process has SLURM_PROCID 0. Empty: neither has
/// started it.
std::optional<int> rank_in_allocation();

/// True if srun has started this process, or the one that has started it, without mpirun. Then no
/// program ends the other processes or removes their files.
bool is_started_by_srun();

/// Throws: RunError(Usage) if mpirun or srun has started another number of processes than a run
/// has, or if srun has started several without PMIx, which cannot reach each other.
void check_allocation(int processes);

/// The reach of the ranks to which this process belongs.
Reach reach_of_ranks();

/// True in every process of an allocation except the coordinator.
bool is_member_of_allocation();

/// Opens the MPI session of a run of `processes` processes. Throws: RunError(PeerLost) if MPI knows
/// another number, for example if each process is a world of its own.
std::unique_ptr<MpiSession> open_session(int processes);

/// True in the members of an allocation and in the rank 0 that its coordinator has started.
bool joins_allocation();

/// Joins the MPI session and sets the environment variables that a coordinator sets for its ranks.
/// Ends the process if rank 0 does not come. Precondition: joins_allocation().
std::unique_ptr<MpiSession> join_allocation(int processes);

/// The members of srun's allocation, which wait for the coordinator in MPI_Init. The destructor
/// ends them, unless they have been given the coordinator's address.
class WaitingMembers {
 public:
  explicit WaitingMembers(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}
  ~WaitingMembers();
  WaitingMembers(const WaitingMembers&) = delete;
  WaitingMembers& operator=(const WaitingMembers&) = delete;

  void are_told() { told_ = true; }

 private:
  std::vector<std::string> arguments_;  ///< this program's arguments
  bool told_ = false;
};

}  // namespace regatta
