// SPDX-License-Identifier: Apache-2.0
#include "harness/local_trainer.h"

#include "harness/process.h"
#include "kernels/runtime/clock.h"

namespace regatta {

namespace {

/// In the whole graph, of the loop that is `index` in a part.
int number_of(const Partition& partition, std::size_t index) {
  return partition.parts.empty() ? static_cast<int>(index) : partition.parts.at(index).number;
}

}  // namespace

LocalTrainer::LocalTrainer(const Step& part, std::unique_ptr<Backend> backend,
                           const ExecutorOptions& options, std::int64_t rank)
    : backend_(std::move(backend)), executor_(part, backend_->kernels, options), rank_(rank) {}

void LocalTrainer::connect() {
  if (backend_->mpi != nullptr) backend_->mpi->connect();
}

std::vector<VariableCopy> LocalTrainer::variables(Copies which) {
  CopyChooser chooser(which);
  std::vector<VariableCopy> copies;
  for (VariableId v : chooser.choose(executor_.step().graph)) copies.push_back(variable(v));
  return copies;
}

VariableCopy LocalTrainer::variable(VariableId id) {
  return {.variable = &executor_.step().graph.variable(id),
          .tensor = executor_.variable(id).tensor};
}

void LocalTrainer::lose(int process, const std::string& reason) {
  if (backend_->grpc != nullptr) backend_->grpc->lose(process, reason);
  if (backend_->tickets != nullptr) backend_->tickets->lose(process, reason);
}

TrainingReport LocalTrainer::report() {
  TrainingReport report = report_of(executor_, backend_->traffic(), rank_);
  report.exchange_times = backend_->exchange_times();
  return report;
}

std::vector<VariableId> CopyChooser::choose(const Graph& graph) {
  std::vector<VariableId> wanted;
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    const Variable& variable = graph.variable(v);
    const bool is_first = found_.insert(variable.name).second;
    if (is_first || which_ == Copies::All || variable.kind == VariableKind::Statistic) {
      wanted.push_back(v);
    }
  }
  return wanted;
}

TrainingReport report_of(const Executor& executor, std::map<Place, MemberTraffic> counted,
                         std::int64_t rank) {
  TrainingReport report;
  for (WorkerReport& worker : executor.workers()) {
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
  report.lost_updates = executor.lost_updates();
  report.planned_bytes = executor.planned_bytes();
  report.peak_rss_bytes = peak_rss_bytes();
  return report;
}

}  // namespace regatta
