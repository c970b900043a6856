// SPDX-License-Identifier: Apache-2.0
#include "harness/local_trainer.h"

#include <set>
#include <string_view>

#include "harness/process.h"
#include "kernels/runtime/clock.h"

namespace regatta {

LocalTrainer::LocalTrainer(const Step& part, const std::string& device,
                           const ExecutorOptions& options)
    : backend_(make_backend(device)), executor_(part, backend_->kernels, options) {}

std::vector<VariableCopy> LocalTrainer::variables(Copies which) {
  const Graph& graph = executor_.step().graph;
  std::vector<VariableCopy> copies;
  for (VariableId v : wanted_variables(graph, which)) {
    copies.push_back({.variable = &graph.variable(v), .tensor = executor_.variable(v).tensor});
  }
  return copies;
}

TrainingReport LocalTrainer::report() {
  return report_of(executor_, backend_->transport.traffic(), 0);
}

std::vector<VariableId> wanted_variables(const Graph& graph, Copies which) {
  std::set<std::string_view> found;
  std::vector<VariableId> wanted;
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    const Variable& variable = graph.variable(v);
    const bool is_first = found.insert(variable.name).second;
    if (is_first || which == Copies::All || variable.kind == VariableKind::Statistic) {
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
    LoopHistory history{.share_of_batch = loop.share_of_batch,
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
