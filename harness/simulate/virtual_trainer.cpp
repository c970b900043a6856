// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/virtual_trainer.h"

#include <cmath>
#include <utility>

#include "kernels/graph/error.h"
#include "kernels/graph/partition.h"

namespace regatta {
namespace {

/// A loop that is alone comes to what it has in its own order.
virtual_time::SimulationOptions with_order(const VirtualCell& cell, AccessOrder& order) {
  virtual_time::SimulationOptions options = cell.options;
  if (cell.program.loops.size() > 1) options.order = &order;
  return options;
}

}  // namespace

VirtualTrainer::VirtualTrainer(VirtualCell cell, const Step& placed,
                               std::unique_ptr<Backend> backend, ExecutorOptions options)
    : cell_(std::move(cell)),
      simulation_(cell_.program, cell_.file.cluster, with_order(cell_, order_)) {
  if (cell_.program.loops.size() > 1) options.order = &order_;
  options.stragglers.clear();  // the cluster's
  const std::vector<Step> parts = partition(placed, Binding());
  trainer_ = std::make_unique<LocalTrainer>(parts.front(), std::move(backend), options, 0);
  trainer_->connect();
}

void VirtualTrainer::advance_to(std::int64_t examples) {
  simulation_.advance_to(examples);
  order_.begin();
  trainer_->advance_to(examples);
  clock_ns_ = std::llround(simulation_.now());
}

void VirtualTrainer::begin_at(const std::vector<VariableCopy>&, const Positions&) {
  check(false, "virtual time has no checkpoints");
}

TrainingReport VirtualTrainer::report() {
  TrainingReport report = trainer_->report();
  TrainingReport virtual_one = report_of(simulation_, cell_.program);
  check(report.loops.size() == virtual_one.loops.size(), "both have the loops of the whole graph");
  for (std::size_t i = 0; i < report.loops.size(); ++i) {
    report.loops[i].step_ns = std::move(virtual_one.loops[i].step_ns);
    report.loops[i].step_ns.resize(report.loops[i].losses.size());
  }
  check(report.workers.size() == virtual_one.workers.size(), "both have the same places");
  for (std::size_t i = 0; i < report.workers.size(); ++i) {
    const WorkerReport& counted = report.workers[i].report;
    WorkerReport& simulated = virtual_one.workers[i].report;
    check(counted.place == simulated.place && counted.staleness == simulated.staleness,
          "updates missed as many versions as in the order that was given");
    simulated.data_order = counted.data_order;
  }
  report.workers = std::move(virtual_one.workers);
  report.traffic = std::move(virtual_one.traffic);
  report.exchange_times.clear();
  report.clocks.clear();
  return report;
}

}  // namespace regatta
