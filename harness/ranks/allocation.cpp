// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/allocation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "harness/ranks/control_protocol.h"
#include "harness/ranks/launcher.h"
#include "harness/ranks/rank_commands.h"
#include "harness/system/slurm_job.h"
#include "kernels/base/error.h"

namespace regatta::ranks {
namespace {

constexpr std::array kTold = {kCoordinatorVariable, kRunIdVariable, kTokenVariable};
constexpr char kMpirunRank[] = "OMPI_COMM_WORLD_RANK";
constexpr char kPmixRank[] = "PMIX_RANK";
constexpr char kMpichRank[] = "PMI_RANK";
constexpr std::chrono::seconds kFarewell{10};
constexpr unsigned kJoinSeconds = 180;  // s; rank 0 first loads data and prepares to evaluate

std::optional<int> number_in(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  return std::atoi(value);
}

/// Calls only functions that are safe in a signal handler.
void end_in_vain(int) {
  constexpr std::string_view kWhy = "this rank ends: rank 0, the coordinator, has not joined it\n";
  [[maybe_unused]] const ssize_t said = write(STDERR_FILENO, kWhy.data(), kWhy.size());
  _exit(kEndedEarly);
}

}  // namespace

bool is_started_by_srun() {
  return std::getenv(kMpirunRank) == nullptr && std::getenv(kPmixRank) != nullptr &&
         std::getenv("SLURM_NTASKS") != nullptr;
}

int allocated_processes() {
  if (std::getenv(kCoordinatorVariable) != nullptr) return 0;
  return number_in(is_started_by_srun() ? "SLURM_NTASKS" : "OMPI_COMM_WORLD_SIZE").value_or(0);
}

std::optional<int> rank_in_allocation() {
  if (is_started_by_srun()) return number_in(kPmixRank);
  const auto rank = number_in(kMpirunRank);
  return rank ? rank : number_in(kMpichRank);
}

Reach reach_of_ranks() {
  const bool is_one_host = is_started_by_srun() ? system::other_host_of_slurm_job().empty()
                                                : number_in("OMPI_COMM_WORLD_LOCAL_SIZE") ==
                                                      number_in("OMPI_COMM_WORLD_SIZE");
  return is_one_host ? Reach::ThisHost : Reach::Hosts;
}

bool is_member_of_allocation() {
  return allocated_processes() > 0 && rank_in_allocation().value_or(0) > 0;
}

void check_allocation(int processes) {
  const int started = allocated_processes();
  const bool by_mpich = started == 0 && std::getenv("MPI_LOCALRANKID") != nullptr;
  if (by_mpich && number_in("PMI_SIZE").value_or(1) > 1) {
    throw RunError(ErrorKind::Usage,
                   "MPICH's mpirun has started this process; fix: start regatta without it, and "
                   "regatta --processes calls mpirun");
  }
  if (started > 0 && started != processes) {
    throw RunError(
        ErrorKind::Usage,
        fmt::format("{} has started {} processes, but this run has {}; fix: --processes and "
                    "--servers say how many it has",
                    is_started_by_srun() ? "srun" : "mpirun", started, processes));
  }
  const int tasks = number_in("SLURM_STEP_NUM_TASKS").value_or(1);
  if (started == 0 && processes > 1 && tasks > 1) {
    throw RunError(
        ErrorKind::Usage,
        fmt::format("srun has started {} processes that know nothing of each other; fix: "
                    "srun --mpi=pmix",
                    tasks));
  }
}

std::unique_ptr<comm::MpiSession> open_session(int processes) {
  auto session = std::make_unique<comm::MpiSession>();
  if (session->size() == processes) return session;
  const int known = session->size();
  session->abandon();
  throw RunError(
      ErrorKind::PeerLost,
      fmt::format("MPI knows {} of this run's {} processes; fix: start them by the mpirun "
                  "of the library that `regatta doctor` shows, or by srun --mpi=pmix",
                  known, processes));
}

bool joins_allocation() {
  return std::getenv(kJoinedVariable) != nullptr || is_member_of_allocation();
}

std::unique_ptr<comm::MpiSession> join_allocation(int processes) {
  std::signal(SIGALRM, end_in_vain);
  alarm(kJoinSeconds);
  std::unique_ptr<comm::MpiSession> session = open_session(processes);
  std::string lines;
  for (const char* name : kTold) {
    const char* value = std::getenv(name);
    lines += std::string(value == nullptr ? "" : value) + "\n";
  }
  std::istringstream told(session->broadcast(lines));
  alarm(0);
  for (const char* name : kTold) {
    std::string value;
    std::getline(told, value);
    setenv(name, value.c_str(), 1);
  }
  return session;
}

/// Starts a rank 0 without a coordinator, with which the members meet and then end.
WaitingMembers::~WaitingMembers() {
  if (told_ || allocated_processes() < 2 || !is_started_by_srun()) return;
  try {
    Launcher rank_zero({.ranks = allocated_processes(),
                        .start = Start::RankZero,
                        .arguments = arguments_,
                        .environment = {{kCoordinatorVariable, ""}, {kJoinedVariable, "1"}}});
    rank_zero.end(kFarewell);
  } catch (const RunError&) {
    // Slurm ends them with the step.
  }
}

}  // namespace regatta::ranks
