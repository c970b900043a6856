// SPDX-License-Identifier: Apache-2.0
#include "harness/run/merge_reports.h"

#include <algorithm>

namespace regatta {
namespace {

template <typename T>
void widen(std::vector<T>& values, std::size_t size) {
  if (values.size() < size) values.resize(size);
}

void add_history(LoopHistory& all, const LoopHistory& part) {
  all.number = part.number;
  all.share_of_batch = part.share_of_batch;
  widen(all.step_ns, part.step_ns.size());
  widen(all.losses, part.losses.size());
  widen(all.examples, part.examples.size());
  for (std::size_t k = 0; k < part.step_ns.size(); ++k) {
    all.step_ns[k] = std::max(all.step_ns[k], part.step_ns[k]);
  }
  for (std::size_t k = 0; k < part.losses.size(); ++k) all.losses[k] += part.losses[k];
  for (std::size_t k = 0; k < part.examples.size(); ++k) {
    all.examples[k] = std::max(all.examples[k], part.examples[k]);
  }
}

void add_worker(WorkerReport& all, const WorkerReport& former) {
  all.steps += former.steps;
  all.compute_ns += former.compute_ns;
  all.exposed_communication_ns += former.exposed_communication_ns;
  all.wait_ns += former.wait_ns;
  all.input_ns += former.input_ns;
  all.update_ns += former.update_ns;
  all.total_ns += former.total_ns;
  widen(all.staleness, former.staleness.size());
  for (std::size_t s = 0; s < former.staleness.size(); ++s) all.staleness[s] += former.staleness[s];
  all.age.add(former.age);
  all.updates_applied += former.updates_applied;
  all.updates_dropped += former.updates_dropped;
}

template <typename T>
void prepend(std::vector<T>& values, const std::vector<T>& former) {
  values.insert(values.begin(), former.begin(), former.end());
}

}  // namespace

void drop_incomplete_losses(const std::vector<Step>& parts,
                            const std::vector<TrainingReport>& reports, TrainingReport& all) {
  for (LoopHistory& loop : all.loops) {
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const auto& loops = parts[p].partition.parts;
      const bool takes_part = std::any_of(loops.begin(), loops.end(), [&](const LoopPart& part) {
        return part.number == loop.number;
      });
      if (takes_part && reports[p].loops.empty()) loop.losses.clear();
    }
  }
}

std::vector<std::int64_t> beginnings(const std::vector<LoopHistory>& loops) {
  std::vector<std::int64_t> all;
  for (const LoopHistory& loop : loops) {
    all.insert(all.end(), loop.examples.begin(), loop.examples.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

TrainingReport joined(const TrainingReport& former, TrainingReport later) {
  for (const RankedWorker& worker : former.workers) {
    const auto same = std::find_if(later.workers.begin(), later.workers.end(), [&](const auto& w) {
      return w.report.place == worker.report.place;
    });
    if (same != later.workers.end()) add_worker(same->report, worker.report);
  }
  std::map<int, LoopHistory> loops;
  for (LoopHistory& loop : later.loops) loops[loop.number] = std::move(loop);
  for (const LoopHistory& loop : former.loops) {
    LoopHistory& history = loops[loop.number];
    history.number = loop.number;
    history.share_of_batch = loop.share_of_batch;
    prepend(history.step_ns, loop.step_ns);
    prepend(history.losses, loop.losses);
    prepend(history.examples, loop.examples);
  }
  later.loops.clear();
  for (auto& [number, loop] : loops) later.loops.push_back(std::move(loop));
  add(later.traffic, former.traffic);
  for (const auto& [place, times] : former.exchange_times) {
    add_former(later.exchange_times[place], times);
  }
  later.lost_updates += former.lost_updates;
  return later;
}

TrainingReport merged(const std::vector<TrainingReport>& parts) {
  TrainingReport all;
  std::map<int, LoopHistory> loops;
  for (const TrainingReport& part : parts) {
    all.workers.insert(all.workers.end(), part.workers.begin(), part.workers.end());
    for (const LoopHistory& loop : part.loops) add_history(loops[loop.number], loop);
    add(all.traffic, part.traffic);
    add(all.exchange_times, part.exchange_times);
    all.clocks.insert(part.clocks.begin(), part.clocks.end());
    all.kernels.insert(part.kernels.begin(), part.kernels.end());
    all.lost_updates += part.lost_updates;
    all.planned_bytes += part.planned_bytes;
    all.peak_rss_bytes += part.peak_rss_bytes;
  }
  for (auto& [number, loop] : loops) all.loops.push_back(std::move(loop));
  std::stable_sort(all.workers.begin(), all.workers.end(),
                   [](const auto& a, const auto& b) { return a.report.place < b.report.place; });
  return all;
}

}  // namespace regatta
