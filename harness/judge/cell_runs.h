// SPDX-License-Identifier: Apache-2.0
//
// Runs by cell, for what says a cell in one row: its name, and what its runs measured together.
// The name holds all that was asked for but the seed, and depends on nothing but the record, so
// that it means the same in every folder and at every commit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/statistics.h"
#include "harness/record/record.h"

namespace regatta {

/// As --straggler takes them: `1:2.5,2:3`.
std::string straggler_text(const std::vector<Straggler>& stragglers);

/// What the strategy's options say, as far as it is not as usual.
OptionValues unusual_options(const Cell& cell);

/// `resnet9_thin all_reduce x2 dtype=bf16`: what is not as usual for the workload follows.
std::string cell_name(const Record& record);

/// `2 cores of Intel(R) Xeon(R) Processor`, GPUs after that.
std::string machine_name(const MachineFacts& machine);

/// False for `independent`, whose replicas learn apart: a ceiling on speed, no claim about a
/// target.
bool claims_target(const Record& record);

struct CellRuns {
  std::string name;
  std::vector<const Record*> runs;  ///< at least one, in the order of the records
};

/// In order of first appearance. The result points into `records`.
std::vector<CellRuns> runs_by_cell(std::span<const Record> records);

/// Medians over the runs of a cell; empty where no run tells. A run that missed its target or
/// failed counts as infinite in the first two.
struct CellMeasures {
  std::optional<MedianInterval> seconds_to_target;  ///< training clock
  std::optional<MedianInterval> examples_to_target;
  std::optional<MedianInterval> examples_per_s;  ///< over the runs that did not fail
  std::int64_t reached = 0;                      ///< runs that reached the target
};
CellMeasures measures_of(const CellRuns& cell);

}  // namespace regatta
