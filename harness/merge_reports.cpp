// SPDX-License-Identifier: Apache-2.0
#include "harness/merge_reports.h"

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

}  // namespace

TrainingReport merged(const std::vector<TrainingReport>& parts) {
  TrainingReport all;
  std::map<int, LoopHistory> loops;
  for (const TrainingReport& part : parts) {
    all.workers.insert(all.workers.end(), part.workers.begin(), part.workers.end());
    for (const LoopHistory& loop : part.loops) add_history(loops[loop.number], loop);
    for (const auto& [place, traffic] : part.traffic) {
      MemberTraffic& sum = all.traffic[place];
      sum.sent += traffic.sent;
      sum.received += traffic.received;
      sum.messages += traffic.messages;
    }
    add(all.exchange_times, part.exchange_times);
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
