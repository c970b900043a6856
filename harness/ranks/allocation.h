// SPDX-License-Identifier: Apache-2.0
//
// Runs whose processes somebody else has started: `mpirun -np P regatta run ...`, or Slurm's
// `srun --mpi=pmix -n P regatta run ...`. The process with rank 0 becomes the coordinator and
// starts one more process, which is rank 0 to MPI. That process sends the coordinator's address to
// the other ranks by MPI.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/ranks/open_mpi.h"
#include "kernels/comm/mpi/mpi_session.h"

namespace regatta {

/// Processes in the allocation of this process; 0 in no allocation, or if a coordinator started it.
int allocated_processes();

/// This process's number in its run: by mpirun, else by srun, of whose variables PMIx's alone is
/// trusted (below mpirun each process has SLURM_PROCID 0). Empty: neither has started it.
std::optional<int> rank_in_allocation();

/// Whether srun has started this process, or the one that has started it, without mpirun. Then
/// there is no program that ends the other processes, nor one that removes what they leave.
bool is_started_by_srun();

/// Throws: RunError(Usage) where mpirun or srun has started another number of processes than a run
/// has, or srun has started several that know nothing of each other.
void check_allocation(int processes);

/// Of the ranks of which this process is one.
Reach reach_of_ranks();

/// True in every process of an allocation except the coordinator.
bool is_member_of_allocation();

/// The MPI session of a run of so many processes. Throws: RunError(PeerLost) where MPI knows
/// another number, as where each process is a world of its own.
std::unique_ptr<MpiSession> open_session(int processes);

/// True in the members of an allocation and in the rank 0 that its coordinator has started.
bool joins_allocation();

/// In these: joins the MPI session and sets the environment variables that a coordinator sets for
/// its ranks. Where rank 0 does not come the process ends.
std::unique_ptr<MpiSession> join_allocation(int processes);

/// Members of srun's allocation, which wait for the coordinator in MPI_Init. While none of them has
/// been told where it listens, the end of this sends them away.
class WaitingMembers {
 public:
  explicit WaitingMembers(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}
  ~WaitingMembers();
  WaitingMembers(const WaitingMembers&) = delete;
  WaitingMembers& operator=(const WaitingMembers&) = delete;

  void are_told() { told_ = true; }

 private:
  std::vector<std::string> arguments_;  ///< of this program
  bool told_ = false;
};

}  // namespace regatta
