// SPDX-License-Identifier: Apache-2.0
#include "harness/run/local_trainer.h"

#include <cstring>

#include "harness/plan/layout.h"
#include "harness/system/process.h"
#include "kernels/base/error.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::run {

namespace {

/// The number in the whole graph of loop `index` of a part.
int number_of(const Partition& partition, std::size_t index) {
  return partition.parts.empty() ? static_cast<int>(index) : partition.parts.at(index).number;
}

}  // namespace

LocalTrainer::LocalTrainer(const Step& part, std::unique_ptr<Backend> backend,
                           const ExecutorOptions& options, std::int64_t rank)
    : backend_(std::move(backend)), executor_(part, backend_->devices(), options), rank_(rank) {}

void LocalTrainer::connect() {
  for (const auto& transport : backend_->transports) transport->connect();
  executor_.prepare();
}

std::vector<VariableCopy> LocalTrainer::variables(Copies which) {
  CopyChooser chooser(which);
  std::vector<VariableCopy> copies;
  for (VariableId v : chooser.choose(executor_.step())) copies.push_back(variable(v));
  return copies;
}

std::vector<VariableOnDevice> LocalTrainer::variables_on_devices() {
  CopyChooser chooser(Copies::ForEvaluation);
  std::vector<VariableOnDevice> all;
  for (VariableId v : chooser.choose(executor_.step())) {
    if (!executor_.device_of(v).has_queues()) return {};
    all.push_back({.variable = executor_.step().graph.variable(v),
                   .tensor = executor_.variable_on_device(v),
                   .device = &executor_.device_of(v),
                   .model = executor_.step().partition.model(v)});
  }
  return all;
}

VariableCopy LocalTrainer::variable(VariableId id) {
  const HostVariable variable = executor_.variable(id);
  return {.variable = executor_.step().graph.variable(id),
          .tensor = variable.tensor,
          .version = variable.counts == nullptr ? 0 : variable.counts->version,
          .model = executor_.step().partition.model(id)};
}

/// Lost updates are counted from this version on.
void LocalTrainer::set_version(VariableId id, std::uint64_t version) {
  VersionCounts* const counts = executor_.variable(id).counts;
  if (counts != nullptr) *counts = {.version = version, .canary = version};
}

void LocalTrainer::begin_at(const Positions& positions) {
  executor_.write_variables();
  executor_.begin_at(positions);
}

void LocalTrainer::begin_at(const std::vector<VariableCopy>& variables,
                            const Positions& positions) {
  check(variables.size() == executor_.step().graph.variables().size(), "there is a value for each");
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto id = static_cast<VariableId>(i);
    const Tensor& tensor = variables[i].tensor;
    check(tensor.type == variable(id).tensor.type, "variables stand in the order of the graph");
    std::memcpy(variable(id).tensor.data, tensor.data,
                static_cast<std::size_t>(tensor.type.bytes()));
    set_version(id, variables[i].version);
  }
  begin_at(positions);
}

void LocalTrainer::settle_arrivals() {
  for (const auto& transport : backend_->transports) transport->settle_arrivals();
}

void LocalTrainer::lose(int process, const std::string& reason) {
  for (const auto& transport : backend_->transports) transport->lose(process, reason);
  if (backend_->tickets != nullptr) backend_->tickets->lose(process, reason);
}

TrainingReport LocalTrainer::report() {
  TrainingReport report = report_of(executor_, backend_->traffic(), rank_);
  report.exchange_times = backend_->exchange_times();
  for (const auto& transport : backend_->transports) {
    if (const auto clock = transport->clock()) report.clocks[rank_] = *clock;
  }
  return report;
}

std::vector<ProcessTrace> LocalTrainer::traces() {
  return {{.rank = static_cast<int>(rank_),
           .name = "rank " + std::to_string(rank_) + ": " + plan::places_text(executor_.step()),
           .rows = executor_.trace()}};
}

std::vector<VariableId> CopyChooser::choose(const Step& part) {
  const Graph& graph = part.graph;
  std::vector<VariableId> wanted;
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    const Variable& variable = graph.variable(v);
    const bool is_judged = variable.judged_by() == Judged::Mean ||
                           (variable.judged_by() == Judged::First &&
                            found_.insert({part.partition.model(v), variable.name}).second);
    if (is_judged || which_ == Copies::All) wanted.push_back(v);
  }
  return wanted;
}

TrainingReport report_of(const Executor& executor, TrafficByPlace counted, std::int64_t rank) {
  TrainingReport report;
  report.peak_rss_bytes = system::peak_rss_bytes();
  for (WorkerReport& worker : executor.workers()) {
    worker.process_peak_bytes = report.peak_rss_bytes;
    report.workers.push_back({.rank = rank, .report = std::move(worker)});
  }
  for (LoopReport& loop : executor.loops()) {
    LoopHistory history{.number = number_of(executor.step().partition, report.loops.size()),
                        .share_of_batch = loop.share_of_batch,
                        .step_ns = {},
                        .losses = std::move(loop.losses),
                        .examples = std::move(loop.examples)};
    for (std::uint64_t span : loop.step_ticks) history.step_ns.push_back(ticks_to_ns(span));
    report.loops.push_back(std::move(history));
  }
  report.traffic = std::move(counted);
  report.kernels = executor.kernel_choices();
  report.lost_updates = executor.lost_updates();
  report.planned_bytes = executor.planned_bytes();
  return report;
}

}  // namespace regatta::run
