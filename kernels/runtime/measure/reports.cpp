// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/measure/reports.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "kernels/runtime/capture/queued_counts.h"
#include "kernels/runtime/lane.h"
#include "kernels/runtime/loops/step_rules.h"
#include "kernels/runtime/measure/clock.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/plan.h"

namespace regatta {

std::vector<WorkerReport> worker_reports(const RunState& run) {
  std::vector<WorkerReport> reports;
  for (const auto& lane : run.lanes) {
    if (lane->plan().communication) continue;
    WorkerReport report;
    report.place = lane->plan().place;
    report.steps = lane->steps() - lane->first_step();
    report.compute_ns = ticks_to_ns(lane->spent(Category::Compute));
    report.delay_ns = ticks_to_ns(lane->delayed());
    report.exposed_communication_ns = ticks_to_ns(lane->exposed());
    report.wait_ns = ticks_to_ns(lane->waited());
    report.bubble_ns = ticks_to_ns(lane->bubble());
    report.input_ns = ticks_to_ns(lane->spent(Category::Input));
    report.update_ns = ticks_to_ns(lane->spent(Category::Update));
    report.total_ns = ticks_to_ns(lane->total());
    report.staleness = lane->counters().staleness;
    report.age = lane->counters().age;
    report.data_order = lane->counters().data_order;
    if (lane->queued_counts() != nullptr) {
      QueuedCounts counts;
      lane->device().read(&counts, lane->queued_counts(), sizeof counts);
      add(counts, report.staleness, report.age);
      report.data_order += counts.data_order;
    }
    std::tie(report.updates_applied, report.updates_dropped) =
        run.rules.quorums().pushes(report.place);
    reports.push_back(std::move(report));
  }
  std::stable_sort(reports.begin(), reports.end(),
                   [](const auto& a, const auto& b) { return a.place < b.place; });
  return reports;
}

void set_memory(const std::map<Place, MemoryUse>& planned, WorkerReport& worker) {
  const auto found = planned.find(worker.place);
  if (found == planned.end()) return;
  const MemoryUse& use = found->second;
  worker.planned_bytes = use.sum();
  worker.parameter_bytes = use.parameters;
  worker.slot_bytes = use.slots;
  worker.activation_bytes = use.activations;
  worker.gradient_bytes = use.gradients;
}

std::vector<LoopReport> loop_reports(const RunState& run) {
  std::vector<LoopReport> reports(static_cast<std::size_t>(run.plan.loop_count()));
  for (const auto& lane : run.lanes) {
    LoopReport& report = reports[static_cast<std::size_t>(lane->plan().loop)];
    if (lane->step_ticks().empty()) continue;  // not the leader
    report.steps = lane->steps() - lane->first_step();
    report.share_of_batch = static_cast<double>(run.rules.loops().examples(lane->plan().loop)) /
                            static_cast<double>(run.step.global_batch);
    const std::ptrdiff_t begin = lane->first_step(), end = lane->steps();
    report.step_ticks.assign(lane->step_ticks().begin() + begin, lane->step_ticks().begin() + end);
    report.examples.assign(lane->step_examples().begin() + begin,
                           lane->step_examples().begin() + end);
    report.losses.resize(static_cast<std::size_t>(report.steps));
  }
  for (std::size_t i = 0; i < run.losses.size(); ++i) {
    const Lane& lane =
        *run.lanes[static_cast<std::size_t>(run.plan.lane_of(run.step.losses[i].node))];
    LoopReport& report = reports[static_cast<std::size_t>(lane.plan().loop)];
    const auto begin = static_cast<std::size_t>(lane.first_step());
    for (std::size_t k = 0; k < report.losses.size(); ++k) {
      report.losses[k] += run.losses[i][begin + k];
    }
  }
  return reports;
}

}  // namespace regatta
