// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/kept_runs.h"

#include <algorithm>
#include <utility>

namespace regatta::matrix {

KeptRuns::KeptRuns(const MatrixPlan& plan, std::filesystem::path folder)
    : plan_(plan),
      folder_(std::move(folder)),
      new_records_(folder_),
      runs_(judge::finished_runs(folder_).runs) {}

// Cells with and without --cores may share a key.
const judge::FinishedRun* KeptRuns::record_of(const PlannedRun& run) const {
  const MatrixCell& cell = plan_.cells[run.cell];
  const auto has_cores = [&](const judge::FinishedRun& each) {
    if (cell.cores > 0) return each.cores == cell.cores;
    return each.has_all_cores ||
           std::none_of(plan_.cells.begin(), plan_.cells.end(), [&](const MatrixCell& other) {
             return other.key == cell.key && other.cores == each.cores;
           });
  };
  const auto found = std::find_if(runs_.rbegin(), runs_.rend(), [&](const auto& each) {
    return each.key == cell.key && each.cell.seed == run.seed && has_cores(each);
  });
  return found == runs_.rend() ? nullptr : &*found;
}

const judge::FinishedRun* KeptRuns::done(const PlannedRun& run) const {
  const judge::FinishedRun* found = record_of(run);
  return found == nullptr || found->is_to_run_again ? nullptr : found;
}

std::vector<judge::FinishedRun> KeptRuns::runs_of(const MatrixCell& cell) const {
  std::vector<judge::FinishedRun> runs;
  const auto found = std::find(plan_.cells.begin(), plan_.cells.end(), cell);
  if (found == plan_.cells.end()) return runs;
  const auto index = static_cast<std::size_t>(found - plan_.cells.begin());
  for (const std::uint64_t seed : plan_.seeds) {
    if (const auto* run = record_of({.cell = index, .seed = seed})) runs.push_back(*run);
  }
  return runs;
}

std::vector<record::Record> KeptRuns::read_new() {
  std::vector<record::Record> records = new_records_.read();
  for (const record::Record& record : records) {
    if (auto run = judge::finished_run(record)) runs_.push_back(std::move(*run));
  }
  return records;
}

void KeptRuns::read_again() { runs_ = judge::finished_runs(folder_).runs; }

}  // namespace regatta::matrix
