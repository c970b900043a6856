// SPDX-License-Identifier: Apache-2.0
//
// Estimates the time of a run in a matrix: the median time of finished runs of the same cell, or
// else an estimate from runs of the same workload, dtype and device. A run with a straggler is
// used only for runs with the same straggler. A run of another cell contributes its speed:
//   seconds = set-up + examples * seconds per example
//             + (warm-up + evaluations * seconds per evaluation) * ratio of the sizes of test sets
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/finished_runs.h"
#include "harness/matrix/matrix_plan.h"
#include "harness/system/child.h"
#include "harness/system/machine.h"

namespace regatta {

/// The parameters that determine the length of a run.
struct RunLength {
  std::string cell;  ///< cell_name() of its records
  std::string workload;
  std::int64_t recipe = 1;  ///< number of the workload's recipe
  std::string strategy;
  std::string dtype;
  std::string device;
  std::string dataset;
  std::string straggler;   ///< in the syntax of --straggler
  double examples = 0;     ///< number to train on
  double evaluations = 0;  ///< expected number without the first, which is in the warm-up
};
/// Computes the run length of a cell that can run.
RunLength run_length(const MatrixCell& cell);

/// The kind of runs on which an estimate is based, the most reliable first.
enum class Basis : std::uint8_t { CellHere, CellCommitted, Strategy, Workload, ShortRun };
/// Returns the phrase to print: `runs of the same cell here`.
std::string to_string(Basis basis);

struct ExpectedTime {
  double seconds = 0;
  Basis basis = Basis::CellHere;
};

/// Finished runs on which estimates are based, by origin.
struct KnownRuns {
  std::span<const FinishedRun> here;       ///< runs in the matrix's folder
  std::span<const FinishedRun> committed;  ///< from committed_runs()
  std::span<const FinishedRun> timed;      ///< from short_run()
};

/// Estimates the time of a run; empty if no known run applies.
std::optional<ExpectedTime> expected_time(const RunLength& run, const KnownRuns& known);

/// Reads the runs in the checkout's folder results/ that were made on an equal machine: the same
/// processor, instruction set extensions, number of cores, CPU limit and GPUs. Empty for an
/// installed program.
std::vector<FinishedRun> committed_runs(const MachineFacts& machine);

/// Runs a few small steps of `single`, on generated data if the workload has such a data set, with
/// a temporary folder; empty if the run fails or does not end before the deadline.
std::optional<FinishedRun> short_run(const RunLength& run, Deadline deadline);

}  // namespace regatta
