// SPDX-License-Identifier: Apache-2.0
#include "harness/run/merge_reports.h"

#include <algorithm>

#include "kernels/base/error.h"

namespace regatta::run {

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

void require_whole(const TrainingReport& report) {
  for (const LoopHistory& loop : report.loops) {
    const std::size_t steps = loop.examples.size();
    const bool has_losses = !loop.losses.empty();
    if (loop.step_ns.size() == steps && (!has_losses || loop.losses.size() == steps)) continue;
    throw RunError(ErrorKind::Data, "the histories of a loop differ in length");
  }
}

TrainingReport joined(const TrainingReport& former, TrainingReport later) {
  merge<Across::Periods>(later, former);
  return later;
}

TrainingReport merged(const std::vector<TrainingReport>& parts) {
  TrainingReport all;
  for (const TrainingReport& part : parts) merge<Across::Parts>(all, part);
  return all;
}

}  // namespace regatta::run
