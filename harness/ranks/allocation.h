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

#include "harness/ranks/mpirun.h"
#include "kernels/comm/mpi/mpi_session.h"

namespace regatta::ranks {

/// Returns the number of processes in this process's allocation; 0 if it has none, or if a
/// coordinator started this process.
int allocated_processes();

/// This process's rank in its allocation: from mpirun's variables, else from PMIx's (PMIX_RANK) if
/// srun started it. SLURM_PROCID is not used, because mpirun inside a Slurm job gives each process
/// SLURM_PROCID 0. Empty if neither mpirun nor srun has started this process.
std::optional<int> rank_in_allocation();

/// True if srun has started this process or its parent, without mpirun. Unlike mpirun, srun neither
/// ends the other processes after a failure nor removes their files.
bool is_started_by_srun();

/// Checks that the allocation suits a run of `processes` processes. Throws: RunError(Usage) if
/// mpirun or srun has started another number of processes, or if srun has started several without
/// PMIx, so that they cannot reach each other.
void check_allocation(int processes);

/// Returns Reach::ThisHost if all ranks of this process's allocation are on one host, else
/// Reach::Hosts.
Reach reach_of_ranks();

/// True in every process of an allocation except the coordinator.
bool is_member_of_allocation();

/// Opens the MPI session of a run of `processes` processes. Throws: RunError(PeerLost) if
/// MPI_COMM_WORLD has another size, for example 1 because each process is a world of its own.
std::unique_ptr<comm::MpiSession> open_session(int processes);

/// True in the processes that must call join_allocation(): the members of an allocation, and the
/// rank 0 that the coordinator of an allocation has started.
bool joins_allocation();

/// Joins the MPI session and sets the environment variables that a coordinator sets for its ranks.
/// Ends this process if rank 0 does not join. Precondition: joins_allocation().
std::unique_ptr<comm::MpiSession> join_allocation(int processes);

/// The members of srun's allocation, which wait in MPI_Init until rank 0 has started. Unless
/// are_told() was called, the destructor ends these processes, which would otherwise wait forever.
class WaitingMembers {
 public:
  explicit WaitingMembers(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}
  ~WaitingMembers();
  WaitingMembers(const WaitingMembers&) = delete;
  WaitingMembers& operator=(const WaitingMembers&) = delete;

  /// Notes that the members have received the coordinator's address.
  void are_told() { told_ = true; }

 private:
  std::vector<std::string> arguments_;  ///< this program's arguments
  bool told_ = false;
};

}  // namespace regatta::ranks
