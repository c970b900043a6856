// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/virtual_cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "harness/plan/device_name.h"
#include "harness/plan/layout.h"
#include "harness/simulate/node_times.h"
#include "harness/system/machine.h"
#include "kernels/base/error.h"
#include "kernels/base/names.h"
#include "kernels/graph/period.h"
#include "strategies/shared_options.h"

namespace regatta::simulate {
namespace {

constexpr double kMostRunNs = 1e18;
/// With constant times all steps are alike once every node has run.
constexpr std::int64_t kStepsAlike = 8;
constexpr std::int64_t kStepsThatDiffer = 200;

[[noreturn]] void refuse(const std::string& what) {
  throw RunError(ErrorKind::Unsupported, "--cluster: " + what);
}

void require_trained(const plan::Placement& placement) {
  if (placement.facts.has_quorum) {
    refuse("backup workers train in real time only; leave --virtual or --backup-workers out");
  }
  if (placement.options.choice(strategies::kAlgorithm) == kMpi) {
    refuse(
        "the order in which Open MPI adds up is its own, so that --virtual train has none; fix: "
        "--all-reduce ring");
  }
}

}  // namespace

VirtualMode virtual_mode_of(const plan::RaceRequest& request) {
  if (request.virtual_mode == "time") return VirtualMode::Time;
  if (request.virtual_mode != "train") {
    throw unknown_name("virtual", request.virtual_mode, std::vector<std::string>{"time", "train"});
  }
  if (request.cluster.empty()) {
    throw RunError(ErrorKind::Usage,
                   "--virtual train needs --cluster: the hosts and links of the run");
  }
  return VirtualMode::Train;
}

void require_virtual(const plan::RaceRequest& request, const plan::Placement& placement) {
  if (plan::is_gpu(request.device)) {
    refuse(
        "a calibration holds costs of kernels wherever they run, and --virtual train computes on "
        "the CPU; leave --device out");
  }
  if (!request.trace.empty()) refuse("there is no timeline of virtual time yet; leave --trace out");
  if (request.checkpoint_every || !request.resume.empty()) {
    refuse("virtual time has no checkpoints; leave --checkpoint-every and --resume out");
  }
  if (request.cores != 0) refuse("threads_per_worker is the file's; leave --cores out");
  if (!request.listen.empty() || !request.tls.empty()) {
    refuse("no process is started; leave --listen and --tls out");
  }
  if (request.on_loss == OnLoss::Continue) {
    refuse("no process can be lost; leave --continue-on-loss out");
  }
  if (!request.hosts.empty()) refuse("hosts are the file's; leave --hosts out");
  if (virtual_mode_of(request) == VirtualMode::Train) return require_trained(placement);
  if (request.epochs) refuse("a few steps tell the speed; give --steps in place of --epochs");
}

namespace {

/// The host of each process. A process has one worker, and workers fill devices in the file's
/// order.
std::vector<int> hosts_of_devices(const ClusterFile& file, const plan::Placement& placement) {
  const std::int64_t workers = plan::workers_of(placement);
  const auto room = std::ssize(file.cluster.hosts) * file.cluster.devices->per_host;
  if (workers > room) {
    throw RunError(ErrorKind::Usage,
                   fmt::format("the cluster has {} devices, and {} workers need one each; fix: "
                               "count = {} of [[host]]",
                               room, workers, (workers - 1) / file.cluster.devices->per_host + 1));
  }
  if (placement.processes != workers) {
    throw RunError(ErrorKind::Usage,
                   fmt::format("a cluster with [devices] has one worker in each process; fix: "
                               "--processes {}",
                               workers));
  }
  std::vector<int> hosts;
  for (const std::vector<Place>& workers_of_process : plan::workers_by_process(placement)) {
    const Place& place = workers_of_process.at(0);
    std::int64_t index = 0, stride = 1;
    for (const std::string& each : file.device_order) {
      const bool by_stage = each == "stage", by_shard = each == "shard";
      index += stride * (by_stage ? place.stage : by_shard ? place.shard : place.replica);
      stride *= by_stage   ? placement.options.stages
                : by_shard ? placement.options.shards
                           : placement.options.replicas;
    }
    hosts.push_back(static_cast<int>(index / file.cluster.devices->per_host));
  }
  return hosts;
}

}  // namespace

std::vector<int> hosts_of_processes(const ClusterFile& file, const plan::Placement& placement) {
  if (file.cluster.devices) return hosts_of_devices(file, placement);
  std::vector<ProcessNeeds> needs;
  for (int p = 0; p < placement.processes; ++p) {
    const int cores = plan::workers_in(placement, p) * file.cluster.threads_per_worker;
    needs.push_back({.cores = cores > 0 ? cores : file.cluster.server_cores});
  }
  return hosts_of(file, needs);
}

const std::string& VirtualCell::host_of(std::int64_t process) const {
  const int host = options.host_of.at(static_cast<std::size_t>(process));
  return file.cluster.hosts.at(static_cast<std::size_t>(host)).name;
}

VirtualCell virtual_cell(ClusterFile file, const plan::RaceRequest& request,
                         const plan::Placement& placement, std::span<const Step> parts) {
  const int threads = file.cluster.threads_per_worker;
  virtual_time::SimulationOptions options{.host_of = hosts_of_processes(file, placement),
                                          .stragglers = request.stragglers};
  const auto& devices = file.cluster.devices;
  virtual_time::Program program = virtual_time::make_program(
      parts, file.calibration.kernels, threads,
      {.devices = devices ? &*devices : nullptr, .host_of = options.host_of});
  return {.file = std::move(file), .program = std::move(program), .options = std::move(options)};
}

VirtualCell virtual_cell(const plan::RaceRequest& request, const plan::Placement& placement,
                         std::span<const Step> parts) {
  ClusterFile file = read_cluster(request.cluster, system::machine_facts().cpu,
                                  system::software_facts().git_commit);
  VirtualCell cell = virtual_cell(std::move(file), request, placement, parts);
  require_costs(cell.program.unknown_kernels, request);
  return cell;
}

std::int64_t steps_to_estimate(std::span<const Step> parts,
                               const virtual_time::ComputeTimes& compute_times) {
  const bool alike = compute_times.kind == virtual_time::ComputeTimes::Kind::Constant;
  std::int64_t steps = alike ? kStepsAlike : kStepsThatDiffer;
  for (const Step& part : parts) steps = std::max(steps, 2 * steps_with_all_nodes(part.graph));
  return steps;
}

run::TrainingReport report_of(const virtual_time::Simulation& simulation,
                              const virtual_time::Program& program) {
  if (!(simulation.now() < kMostRunNs)) {
    throw RunError(ErrorKind::Usage,
                   "by the cluster and its calibration the run takes more than thirty years; fix: "
                   "fewer steps, or shorter times");
  }
  run::TrainingReport report;
  for (auto& [process, worker] : simulation.workers()) {
    report.workers.push_back({.rank = process, .report = worker});
  }
  for (std::size_t i = 0; i < simulation.loops().size(); ++i) {
    const virtual_time::SimulatedLoop& loop = simulation.loops()[i];
    run::LoopHistory history{.number = static_cast<int>(i),
                             .share_of_batch = static_cast<double>(program.loops[i].examples) /
                                               static_cast<double>(program.global_batch),
                             .step_ns = {},
                             .losses = {},
                             .examples = loop.examples};
    for (const double ns : loop.step_ns) history.step_ns.push_back(std::llround(ns));
    report.loops.push_back(std::move(history));
  }
  report.traffic = simulation.traffic();
  return report;
}

}  // namespace regatta::simulate
