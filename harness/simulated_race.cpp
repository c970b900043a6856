// SPDX-License-Identifier: Apache-2.0
#include "harness/simulated_race.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "harness/plan/cell.h"
#include "harness/plan/layout.h"
#include "harness/plan/placement.h"
#include "harness/plan/training_options.h"
#include "harness/record/record_writer.h"
#include "harness/simulate/cluster_file.h"
#include "harness/summary.h"
#include "harness/system/machine.h"
#include "harness/system/run_id.h"
#include "kernels/graph/error.h"
#include "kernels/graph/partition.h"
#include "kernels/graph/period.h"
#include "kernels/runtime/measure/clock.h"
#include "kernels/virtual/simulation.h"

namespace regatta {
namespace {

using virtual_time::ComputeTimes;
using virtual_time::Program;
using virtual_time::Simulation;

/// Steps until the estimate stands: of constant times all are alike once every node has taken part.
constexpr std::int64_t kStepsAlike = 8;
constexpr std::int64_t kStepsThatDiffer = 200;

void require_virtual(const RaceRequest& request, const Placement& placement) {
  const auto refuse = [](const std::string& what) {
    throw RunError(ErrorKind::Unsupported, "--cluster: " + what);
  };
  if (!request.trace.empty()) refuse("there is no timeline of virtual time yet; leave --trace out");
  if (request.checkpoint_every || !request.resume.empty()) {
    refuse(
        "nothing is trained, so that there is nothing to keep; leave --checkpoint-every and "
        "--resume out");
  }
  if (request.epochs) refuse("a few steps tell the speed; give --steps in place of --epochs");
  if (request.threads != 0) refuse("threads_per_worker is the file's; leave --threads out");
  if (!request.listen.empty() || !request.tls.empty()) {
    refuse("no process is started; leave --listen and --tls out");
  }
  if (request.on_loss == OnLoss::Continue) {
    refuse("no process can be lost; leave --continue-on-loss out");
  }
  if (placement.facts.has_quorum) refuse("backup workers have no virtual time yet");
  if (!request.hosts.empty()) refuse("hosts are the file's; leave --hosts out");
}

std::int64_t steps_of(const RaceRequest& request, const std::vector<Step>& parts,
                      const virtual_time::Cluster& cluster) {
  if (request.steps) return *request.steps;
  std::int64_t steps =
      cluster.compute_times.kind == ComputeTimes::Kind::Constant ? kStepsAlike : kStepsThatDiffer;
  for (const Step& part : parts) {
    steps = std::max(steps, 2 * steps_with_all_nodes(part.graph));
  }
  return steps;
}

/// Throws: RunError(Usage) that names the first kernel without a cost, and what measures it.
void require_costs(const Program& program, const RaceRequest& request) {
  if (program.unknown_kernels.empty()) return;
  throw RunError(
      ErrorKind::Usage,
      fmt::format("the calibration lacks {} kernels of this cell, such as '{}'; fix: regatta "
                  "calibrate with the flags of this command that make the cell (--workload {} "
                  "--strategy {} --workers {} ...), and the threads of the cluster's file",
                  program.unknown_kernels.size(), program.unknown_kernels.front(), request.workload,
                  request.strategy, request.workers));
}

TrainingReport report_of(const Simulation& simulation, const Program& program) {
  TrainingReport report;
  for (auto& [process, worker] : simulation.workers()) {
    report.workers.push_back({.rank = process, .report = worker});
  }
  for (std::size_t i = 0; i < simulation.loops().size(); ++i) {
    const virtual_time::SimulatedLoop& loop = simulation.loops()[i];
    LoopHistory history{.number = static_cast<int>(i),
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

}  // namespace

Record simulated_race(const RaceRequest& request) {
  const std::int64_t begin_ns = now_ns();
  const Placement placement = place_without_data(request);
  require_virtual(request, placement);
  const SoftwareFacts software = software_facts();
  const MachineFacts machine = machine_facts();
  const ClusterFile file = read_cluster(request.cluster, machine.cpu, software.git_commit);
  const int threads = file.cluster.threads_per_worker;

  std::vector<ProcessNeeds> needs;
  for (int p = 0; p < placement.processes; ++p) {
    const int workers = workers_in(placement, p);
    needs.push_back({.cores = workers > 0 ? workers * threads : file.cluster.server_cores});
  }
  virtual_time::SimulationOptions options{.host_of = hosts_of(file, needs),
                                          .stragglers = request.stragglers};

  const std::vector<Step> parts = partition(placed_step(placement), binding_of(placement));
  const Program program = virtual_time::make_program(parts, file.calibration.kernels, threads);
  require_costs(program, request);
  options.max_examples = steps_of(request, parts, file.cluster) * placement.recipe.global_batch;

  Record record;
  record.cell = cell_of(request, placement,
                        {.dataset = dataset_of(request, *placement.workload),
                         .cores = threads * static_cast<int>(workers_of(placement))});
  record.run_id = random_hexadecimal(kRunIdBytes);
  record.timestamp = utc_timestamp();
  record.command = request.command;
  record.target = {.metric = std::string(to_string(placement.workload->metric)),
                   .value = request.target.value_or(placement.workload->target)};
  record.graph = graph_record(parts, options.max_examples / placement.recipe.global_batch);
  record.setup_ns = now_ns() - begin_ns;

  Simulation simulation(program, file.cluster, options);
  simulation.run();
  if (simulation.now() <= 0) {
    throw RunError(ErrorKind::Usage,
                   "by the calibration nothing takes any time; fix: regatta "
                   "calibrate, or times above 0");
  }
  record.training_ns = record.full_ns = std::llround(simulation.now());
  record.examples_per_s =
      static_cast<double>(simulation.examples_seen()) / (simulation.now() * 1e-9);
  summarize(report_of(simulation, program), simulation.examples_seen(), record);
  record.checksums = {};
  for (WorkerRecord& worker : record.workers) {
    const auto process = static_cast<std::size_t>(worker.rank);
    worker.host = file.cluster.hosts[static_cast<std::size_t>(options.host_of[process])].name;
  }
  record.simulated = Simulated{.mode = "time",
                               .cluster = file.digest,
                               .calibration = file.calibration_digest,
                               .source = file.calibration.source,
                               .hosts = std::ssize(file.cluster.hosts),
                               .events = static_cast<std::int64_t>(simulation.events()),
                               .hardware = hardware_of(file)};
  record.machine = machine;
  record.software = software;
  record.environment = environment_facts();
  return record;
}

void print_simulated(std::ostream& out, const Record& record, const std::string& folder) {
  const auto share = [&](auto field) {
    double sum = 0, all = 0;
    for (const WorkerRecord& worker : record.workers) {
      sum += static_cast<double>(worker.*field);
      all += static_cast<double>(worker.compute_ns + worker.exposed_communication_ns +
                                 worker.wait_ns + worker.input_ns + worker.update_ns);
    }
    return all > 0 ? 100 * sum / all : 0;
  };
  out << fmt::format(
      "{} {} on {} virtual hosts: a step of {:.4g} ms (median of {}), {:.4g} examples/s; compute "
      "{:.0f} %, update {:.0f} %, communication {:.0f} %, waiting {:.0f} %\n",
      record.cell.workload, record.cell.strategy, record.simulated->hosts,
      static_cast<double>(record.step_time_ns.p50) * 1e-6, record.step_time_ns.count,
      record.examples_per_s, share(&WorkerRecord::compute_ns), share(&WorkerRecord::update_ns),
      share(&WorkerRecord::exposed_communication_ns), share(&WorkerRecord::wait_ns));
  out << fmt::format("in virtual time, by costs of {}; record in {}/{}\n", record.simulated->source,
                     folder, file_of(Kept::Simulated));
}

}  // namespace regatta
