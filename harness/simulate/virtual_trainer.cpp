// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/virtual_trainer.h"

#include <cmath>
#include <map>
#include <utility>

#include "kernels/base/error.h"
#include "strategies/passes.h"

namespace regatta::simulate {
namespace {

/// Returns the cell's options. Several loops add their accesses to `order`; a single loop does not
/// need it.
virtual_time::SimulationOptions with_order(const VirtualCell& cell, AccessOrder& order) {
  virtual_time::SimulationOptions options = cell.options;
  if (cell.program.loops.size() > 1) options.order = &order;
  return options;
}

}  // namespace

VirtualTrainer::VirtualTrainer(VirtualCell cell, const Step& placed,
                               std::unique_ptr<run::Backend> backend, ExecutorOptions options)
    : cell_(std::move(cell)),
      simulation_(cell_.program, cell_.file.cluster, with_order(cell_, order_)) {
  if (cell_.program.loops.size() > 1) options.rules.order = &order_;
  options.stragglers.clear();  // only the simulation applies them
  const std::vector<Step> parts = strategies::partitioned(placed, Binding());
  trainer_ = std::make_unique<run::LocalTrainer>(parts.front(), std::move(backend), options, 0);
  trainer_->connect();
}

void VirtualTrainer::advance_to(std::int64_t examples) {
  try {
    simulation_.advance_to(examples);
    order_.begin();
    trainer_->advance_to(examples);
  } catch (...) {
    has_failed_ = true;
    throw;
  }
  of_cluster_ = report_of(simulation_, cell_.program);
  clock_ns_ = std::llround(simulation_.now());
  examples_ = trainer_->examples_seen();
}

void VirtualTrainer::begin_at(const std::vector<run::VariableCopy>&, const Positions&) {
  check(false, "virtual time has no checkpoints");
}

run::TrainingReport VirtualTrainer::report() {
  run::TrainingReport report = trainer_->report();
  run::TrainingReport of_cluster = of_cluster_;
  of_cluster.loops.resize(report.loops.size());  // empty before the first stop
  for (std::size_t i = 0; i < report.loops.size(); ++i) {
    report.loops[i].step_ns = std::move(of_cluster.loops[i].step_ns);
  }
  std::map<Place, const WorkerReport*> here;
  for (const run::RankedWorker& worker : report.workers) here[worker.report.place] = &worker.report;
  for (run::RankedWorker& worker : of_cluster.workers) {
    WorkerReport& simulated = worker.report;
    if (simulated.place.role == Role::Peer) continue;  // has no worker here
    const WorkerReport& counted = *here.at(simulated.place);
    check(has_failed_ || counted.staleness == simulated.staleness,
          "updates missed as many versions as in the order that was given");
    simulated.data_order = counted.data_order;
  }
  report.workers = std::move(of_cluster.workers);
  report.traffic = std::move(of_cluster.traffic);
  report.exchange_times.clear();
  report.clocks.clear();
  return report;
}

}  // namespace regatta::simulate
