// SPDX-License-Identifier: Apache-2.0
#include "harness/race/make_trainer.h"

#include <filesystem>
#include <utility>

#include "harness/plan/layout.h"
#include "harness/plan/training_options.h"
#include "harness/ranks/allocation.h"
#include "harness/ranks/local_address.h"
#include "harness/ranks/remote_trainer.h"
#include "harness/run/backend.h"
#include "harness/run/local_trainer.h"
#include "harness/system/input_file.h"
#include "harness/system/run_id.h"
#include "harness/system/slurm_job.h"
#include "kernels/comm/grpc/grpc_credentials.h"
#include "kernels/comm/nccl/nccl_settings.h"
#include "kernels/comm/nccl/nccl_transport.h"

namespace regatta::race {
namespace {

constexpr int kTokenBytes = 32;
constexpr std::uintmax_t kMostHostfile = 1 << 20;  // bytes

std::unique_ptr<run::Trainer> local_trainer(const TrainerRequest& wanted, const Step& part) {
  ExecutorOptions options =
      plan::executor_options(wanted.request, wanted.placement, wanted.data, 0);
  options.cores = wanted.cores;
  options.threads_per_worker = static_cast<int>(wanted.threads_per_worker);
  std::unique_ptr<run::Backend> backend = run::make_backend(wanted.request.device);
  if (wanted.placement.by_nccl) {
    backend->add(std::make_unique<comm::NcclTransport>(std::make_unique<comm::RendezvousAlone>()));
  }
  auto trainer = std::make_unique<run::LocalTrainer>(part, std::move(backend), options, 0);
  trainer->connect();
  return trainer;
}

/// The address given by --listen, else this host's towards another host of the Slurm job, else
/// loopback. Empty for a Unix socket: all processes are on this host, and no option asks for TCP.
std::string listening_address(const plan::RaceRequest& request) {
  if (!request.listen.empty() || !request.hosts.empty()) return request.listen;
  const std::string other = system::other_host_of_slurm_job();
  if (other.empty()) {
    const bool at_socket = request.tls.empty() && reach_of_run(request) == ranks::Reach::ThisHost;
    return at_socket ? "" : ranks::kLoopback;
  }
  try {
    return ranks::address_towards(other + ":1");
  } catch (const RunError& error) {
    throw RunError(error.kind(),
                   "of Slurm's job, whose hosts are several: " + std::string(error.what()) +
                       "; fix: --listen ADDRESS at which they reach this host");
  }
}

ranks::RemoteOptions remote_options(const TrainerRequest& wanted) {
  const plan::RaceRequest& request = wanted.request;
  const plan::Placement& placement = wanted.placement;
  ranks::RemoteOptions remote;
  if (!request.hosts.empty()) system::open_input(request.hosts, kMostHostfile);
  remote.launch = launch_of(wanted);
  remote.identity = {.run_id = wanted.run_id, .token = system::random_hexadecimal(kTokenBytes)};
  remote.listen = listening_address(request);
  remote.tls = comm::tls_files_in(request.tls);
  comm::check_tls(remote.tls, remote.listen);  // before a rank starts
  remote.fingerprint = wanted.fingerprint;
  if (!request.trace.empty()) remote.traces = ranks::RemoteOptions::Traces::Kept;
  remote.started = wanted.started;
  remote.tell = wanted.tell;
  for (int p = 0; p < placement.processes; ++p) {
    remote.workers.push_back(plan::workers_in(placement, p));
  }
  remote.servers = placement.servers;
  if (placement.facts.has_quorum) remote.needed_workers = placement.options.replicas;
  return remote;
}

}  // namespace

ranks::Reach reach_of_run(const plan::RaceRequest& request) {
  if (!request.hosts.empty() || !system::other_host_of_slurm_job().empty())
    return ranks::Reach::Hosts;
  return ranks::reach_of_ranks();
}

ranks::LaunchOptions launch_of(const TrainerRequest& wanted) {
  ranks::LaunchOptions launch;
  // Ranks of other hosts do not inherit the environment.
  if (wanted.placement.by_nccl) launch.environment = comm::nccl_variables();
  launch.hosts = wanted.request.hosts;
  launch.reach = reach_of_run(wanted.request);
  if (wanted.request.on_loss == OnLoss::Continue) launch.on_death = ranks::OnDeath::GoOn;
  if (ranks::allocated_processes() > 0) launch.start = ranks::Start::RankZero;
  launch.arguments = wanted.request.arguments;
  launch.logs = std::filesystem::path(wanted.request.rank_logs) / wanted.run_id;
  return launch;
}

std::unique_ptr<run::Trainer> make_trainer(const TrainerRequest& wanted,
                                           const std::vector<Step>& parts) {
  if (wanted.placement.processes == 1) return local_trainer(wanted, parts.front());
  return std::make_unique<ranks::RemoteTrainer>(parts, remote_options(wanted));
}

}  // namespace regatta::race
