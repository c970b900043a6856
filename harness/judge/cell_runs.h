// SPDX-License-Identifier: Apache-2.0
//
// Groups runs by cell, for output with one row per cell: its name and statistics over its runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/cell_identity.h"
#include "harness/judge/statistics.h"
#include "harness/record/record.h"

namespace regatta::judge {

inline constexpr std::int64_t kFewestSteps =
    10;  ///< with fewer steps a run has no meaningful speed

/// Whether the run's time to the target counts. False for `independent`: its replicas train
/// separate models, so it shows only the highest possible speed.
bool claims_target(const record::Record& record);

struct CellRuns {
  std::string name;
  std::vector<const record::Record*> runs;  ///< at least one, in the order of the records
};

/// Groups runs by cell, in order of first appearance. The result points into `records`.
std::vector<CellRuns> runs_by_cell(std::span<const record::Record> records);

/// Medians over the runs of a cell; empty where no run has the value. A run that failed or missed
/// its target counts as infinite in `seconds_to_target` and `examples_to_target`.
struct CellMeasures {
  std::optional<MedianInterval> seconds_to_target;  ///< on the training clock
  std::optional<MedianInterval> examples_to_target;
  std::optional<MedianInterval> examples_per_s;  ///< over the runs that did not fail
  std::int64_t reached = 0;                      ///< runs that reached the target
};
CellMeasures measures_of(const CellRuns& cell);

}  // namespace regatta::judge
