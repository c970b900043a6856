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
#include "harness/plan/training_options.h"
#include "harness/race/summary.h"
#include "harness/record/record_writer.h"
#include "harness/system/machine.h"
#include "harness/system/run_id.h"
#include "harness/system/terminal.h"
#include "kernels/base/error.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta {
namespace {

using virtual_time::Simulation;

}  // namespace

Record simulated_race(const RaceRequest& request) {
  const std::int64_t begin_ns = now_ns();
  Placement placement = place_without_data(request);
  require_virtual(request, placement);
  const std::vector<Step>& parts = placement.placed->parts;
  const VirtualCell cell = virtual_cell(request, placement, parts);
  const std::int64_t steps =
      request.steps.value_or(steps_to_estimate(parts, cell.file.cluster.compute_times));
  const int threads = cell.file.cluster.threads_per_worker;

  Record record;
  record.cell = cell_of(request, placement,
                        {.dataset = dataset_of(request, *placement.workload),
                         .cores = threads * static_cast<int>(workers_of(placement))});
  record.run_id = random_hexadecimal(kRunIdBytes);
  record.timestamp = utc_timestamp();
  record.command = request.command;
  record.target = {.metric = std::string(to_string(placement.workload->metric)),
                   .value = request.target.value_or(placement.workload->target)};
  record.graph = graph_record(parts, steps);
  placement.placed.reset();  // frees a graph per process; the program has all it needs
  record.setup_ns = now_ns() - begin_ns;

  Simulation simulation(cell.program, cell.file.cluster, cell.options);
  simulation.advance_to(steps * placement.recipe.global_batch);
  if (simulation.now() <= 0) {
    throw RunError(ErrorKind::Usage,
                   "by the calibration nothing takes any time; fix: regatta "
                   "calibrate, or times above 0");
  }
  const TrainingReport report = report_of(simulation, cell.program);
  record.training_ns = record.full_ns = std::llround(simulation.now());
  record.examples_per_s =
      static_cast<double>(simulation.examples_seen()) / (simulation.now() * 1e-9);
  summarize(report, simulation.examples_seen(), record);
  record.checksums = {};
  for (WorkerRecord& worker : record.workers) worker.host = cell.host_of(worker.rank);
  record.simulated = simulated_facts(cell, VirtualMode::Time, simulation.events());
  record.machine = machine_facts();
  record.software = software_facts();
  record.environment = environment_facts();
  return record;
}

Simulated simulated_facts(const VirtualCell& cell, VirtualMode mode, std::uint64_t events) {
  return {.mode = mode == VirtualMode::Time ? "time" : "train",
          .cluster = cell.file.digest,
          .calibration = cell.file.calibration_digest,
          .source = cell.file.calibration.source,
          .hosts = std::ssize(cell.file.cluster.hosts),
          .events = static_cast<std::int64_t>(events),
          .hardware = hardware_of(cell.file)};
}

void print_simulated(std::ostream& out, const Record& record, const std::string& folder) {
  const auto share = [&](auto field) {
    double sum = 0, all = 0;
    for (const WorkerRecord& worker : record.workers) {
      if (worker.place.starts_with("peer")) continue;  // it mostly waits for workers
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
  out << one_line(fmt::format("in virtual time, by costs of {}; record in {}/{}",
                              record.simulated->source, folder, file_of(Kept::Simulated)))
      << '\n';
}

}  // namespace regatta
