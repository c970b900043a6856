// SPDX-License-Identifier: Apache-2.0
#include "harness/race/simulated_race.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "harness/plan/cell.h"
#include "harness/plan/layout.h"
#include "harness/plan/placement.h"
#include "harness/plan/race_flags.h"
#include "harness/race/summary.h"
#include "harness/simulate/alike_workers.h"
#include "harness/simulate/memory_limit.h"
#include "harness/simulate/node_times.h"
#include "harness/system/machine.h"
#include "harness/system/run_id.h"
#include "harness/system/terminal.h"
#include "kernels/base/error.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::race {
namespace {

using virtual_time::Simulation;

}  // namespace

record::Record simulated_race(const plan::RaceRequest& request) {
  const std::int64_t begin_ns = now_ns();
  const simulate::ClusterFile file = simulate::read_cluster(
      request.cluster, system::machine_facts().cpu, system::software_facts().git_commit);
  plan::Placement placement = simulate::place_alike(request, file);
  simulate::require_virtual(request, placement);
  const std::vector<Step>& parts = placement.placed->parts;
  const Alike alike = placement.options.alike;
  const std::map<Place, MemoryUse> memory = file.cluster.devices
                                                ? simulate::memory_of_places(parts, file.cluster)
                                                : std::map<Place, MemoryUse>();
  const simulate::VirtualCell cell = simulate::virtual_cell(file, request, placement, parts);
  simulate::require_costs(cell.program.unknown_kernels, request);
  const std::int64_t steps =
      request.steps.value_or(simulate::steps_to_estimate(parts, cell.file.cluster.compute_times));
  const int threads = cell.file.cluster.threads_per_worker;

  record::Record record;
  record.cell = plan::cell_of(request, placement,
                              {.dataset = plan::dataset_of(request, *placement.workload),
                               .cores = threads * static_cast<int>(plan::workers_of(placement))});
  record.run_id = system::random_hexadecimal(system::kRunIdBytes);
  record.timestamp = system::utc_timestamp();
  record.command = request.command;
  record.target = {.metric = std::string(to_string(placement.workload->metric)),
                   .value = placement.target};
  record.graph = graph_record(parts, steps);
  record.machine = system::machine_facts();
  record.software = system::software_facts();
  record.environment = system::environment_facts();
  try {
    simulate::require_memory(file, request, memory);
  } catch (const RunError& error) {
    record.status = record::Status::Failed;
    record.failure =
        record::Failure{.kind = std::string(to_string(error.kind())), .text = error.what()};
    record.simulated = simulated_facts(cell, simulate::VirtualMode::Time, 0);
    return record;
  }
  placement.placed.reset();  // frees a graph per process; the program has all it needs
  record.setup_ns = now_ns() - begin_ns;

  Simulation simulation(cell.program, cell.file.cluster, cell.options);
  simulation.advance_to(steps * placement.recipe.global_batch);
  if (simulation.now() <= 0) {
    throw RunError(ErrorKind::Usage,
                   "by the calibration nothing takes any time; fix: regatta "
                   "calibrate, or times above 0");
  }
  run::TrainingReport report = simulate::report_of(simulation, cell.program);
  for (run::RankedWorker& worker : report.workers) set_memory(memory, worker.report);
  record.training_ns = record.full_ns = std::llround(simulation.now());
  record.examples_per_s =
      static_cast<double>(simulation.examples_seen()) / (simulation.now() * 1e-9);
  record.model_flops_per_step = placement.model_flops;
  if (const auto tokens = workloads::sequences_of(placement.recipe.options).context; tokens > 0) {
    record.tokens_per_example = tokens;
    record.tokens_per_s = record.examples_per_s * static_cast<double>(tokens);
  }
  summarize(report, simulation.examples_seen(), record);
  record.graph.bytes_per_step_counted =
      static_cast<double>(simulation.bytes_sent()) / static_cast<double>(steps);
  record.checksums = {};
  for (record::WorkerRecord& worker : record.workers) worker.host = cell.host_of(worker.rank);
  record.simulated = simulated_facts(cell, simulate::VirtualMode::Time, simulation.events());
  if (alike.places() > 1) record.simulated->places_per_built = alike.places();
  return record;
}

record::Simulated simulated_facts(const simulate::VirtualCell& cell, simulate::VirtualMode mode,
                                  std::uint64_t events) {
  return {.mode = mode == simulate::VirtualMode::Time ? "time" : "train",
          .cluster = cell.file.digest,
          .calibration = cell.file.calibration_digest,
          .source = cell.file.calibration.source,
          .hosts = std::ssize(cell.file.cluster.hosts),
          .events = static_cast<std::int64_t>(events),
          .hardware = simulate::hardware_of(cell.file)};
}

void print_simulated(std::ostream& out, const record::Record& record, const std::string& folder) {
  const auto share = [&](auto field) {
    double sum = 0, all = 0;
    for (const record::WorkerRecord& worker : record.workers) {
      if (worker.place.starts_with("peer")) continue;  // it mostly waits for workers
      sum += static_cast<double>(worker.*field);
      all += static_cast<double>(worker.compute_ns + worker.exposed_communication_ns +
                                 worker.wait_ns + worker.input_ns + worker.update_ns);
    }
    return all > 0 ? 100 * sum / all : 0;
  };
  out << fmt::format(
      "{} {} on {} virtual hosts: a step of {:.4g} ms (median of {}), {}; compute "
      "{:.0f} %, update {:.0f} %, communication {:.0f} %, waiting {:.0f} %\n",
      record.cell.workload, record.cell.strategy, record.simulated->hosts,
      static_cast<double>(record.step_time_ns.p50) * 1e-6, record.step_time_ns.count,
      record::speed_text(record.examples_per_s, record.tokens_per_s),
      share(&record::WorkerRecord::compute_ns), share(&record::WorkerRecord::update_ns),
      share(&record::WorkerRecord::exposed_communication_ns),
      share(&record::WorkerRecord::wait_ns));
  const std::int64_t places = record.simulated->places_per_built.value_or(1);
  const std::string built =
      places == 1 ? ""
                  : fmt::format(", {} of {} workers built, the others are alike",
                                record.workers.size(), places * std::ssize(record.workers));
  out << system::one_line(fmt::format("in virtual time, by costs of {}{}; record in {}/{}",
                                      record.simulated->source, built, folder,
                                      record::file_of(record::Kept::Simulated)))
      << '\n';
}

}  // namespace regatta::race
