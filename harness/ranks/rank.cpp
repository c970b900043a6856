// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/rank.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>

#include "harness/plan/training_options.h"
#include "harness/ranks/allocation.h"
#include "harness/ranks/control_client.h"
#include "harness/ranks/local_address.h"
#include "harness/ranks/mpirun.h"
#include "harness/ranks/rank_commands.h"
#include "harness/ranks/rank_work.h"
#include "harness/system/process.h"
#include "harness/system/slurm_job.h"
#include "kernels/base/error.h"
#include "kernels/comm/grpc/grpc_credentials.h"
#include "kernels/comm/grpc/unix_sockets.h"
#include "kernels/comm/nccl/nccl_settings.h"

namespace regatta::ranks {
namespace {

/// The address at which this rank listens: the one towards the coordinator or, while a member of an
/// allocation does not know that yet, towards --listen or another host. Empty: no route is known,
/// or the rank listens at a Unix socket.
std::string address_of_this_rank(const plan::RaceRequest& request) {
  std::string to = variable_or(kCoordinatorVariable, "");
  if (to.empty())
    to = (request.listen.empty() ? system::other_host_of_slurm_job() : request.listen) + ":1";
  if (comm::is_unix(to)) return "";
  try {
    return address_towards(to);
  } catch (const RunError&) {
    return "";
  }
}

/// The run's placement. Empty if the coordinator will report an error in it; if this rank failed,
/// mpirun could end the coordinator before that.
std::optional<plan::Placement> placement_in_allocation(const plan::RaceRequest& request) {
  try {
    plan::Placement placement = plan::place_without_data(request);
    const bool differs = allocated_processes() != placement.processes;
    if (is_member_of_allocation() && differs) return std::nullopt;
    return placement;
  } catch (const RunError&) {
    return std::nullopt;
  }
}

control::Hello hello() {
  control::Hello hello;
  hello.set_rank(number_of_this_rank());
  hello.set_host(system::host_name());
  hello.set_pid(getpid());
  return hello;
}

void report_trouble(ControlClient& client, const RunError& error) {
  log_line(error.what());  // logged first, so that the coordinator finds it when it reads the log
  control::FromRank message;
  message.mutable_trouble()->set_kind(std::string(to_string(error.kind())));
  message.mutable_trouble()->set_text(error.what());
  client.send(message);
}

/// Reports an error instead of throwing it; the coordinator decides how the run goes on.
template <typename Function>
void guarded(ControlClient& client, Function function) {
  try {
    function();
  } catch (...) {
    report_trouble(client, system::current_run_error());
  }
}

}  // namespace

bool is_rank() { return std::getenv(kCoordinatorVariable) != nullptr || is_member_of_allocation(); }

int serve_as_rank(const plan::RaceRequest& request) {
  std::signal(SIGPIPE, SIG_IGN);  // calls then return an error that names the peer
  const Reach reach = reach_of_ranks();
  const std::string own_address = address_of_this_rank(request);
  choose_links(reach, own_address);
  std::unique_ptr<comm::MpiSession> session;
  std::optional<plan::Placement> placement;
  if (joins_allocation()) {
    placement = placement_in_allocation(request);
    if (!placement) return 0;
    session = join_allocation(placement->processes);
    if (variable_or(kCoordinatorVariable, "").empty()) return 0;  // rank 0 prints the reason
  }
  // Set now, while no other thread reads the environment. Ranks that the coordinator starts inherit
  // these.
  std::optional<comm::PinnedNcclAlgorithm> pinned;
  std::optional<comm::PinnedNcclInterface> interface;
  if (const auto algorithm = plan::nccl_algorithm(request)) {
    pinned.emplace(*algorithm);
    interface.emplace(interface_with(reach == Reach::ThisHost ? kLoopback : own_address));
  }
  ControlClient client(variable_or(kCoordinatorVariable, ""), identity_of_this_run(), hello(),
                       comm::tls_files_in(request.tls));
  // When a job ends Slurm signals all processes; this one waits for the coordinator's command.
  if (is_started_by_srun()) std::signal(SIGTERM, SIG_IGN);
  {
    RankWork rank(request, client, std::move(session), std::move(placement));
    RankCommands commands(client, [&rank](const auto& command) { rank.on_interrupt(command); });
    guarded(client, [&] { rank.join(); });
    for (bool goes_on = true; goes_on;) {
      const control::ToRank command = commands.next();
      guarded(client, [&] { goes_on = rank.handle(command); });
    }
    client.beat({});  // the trainer that it reads is about to be destroyed
  }
  client.finish();
  return 0;
}

}  // namespace regatta::ranks
