// SPDX-License-Identifier: Apache-2.0
//
// The expected time of a matrix' run, from finished runs of the same cell or else of the same
// workload, dtype and device, but from none with a straggler that the run does not have. A run of
// another cell contributes its speed:
//   seconds = set-up + examples * seconds per example + (warm-up + evaluations * seconds of each),
// where seconds of an evaluation scale with the size of the test set.
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
  std::string cell;  ///< its name in records
  std::string workload;
  std::int64_t recipe = 1;  ///< its number
  std::string strategy;
  std::string dtype;
  std::string device;
  std::string dataset;
  std::string straggler;  ///< in the syntax of --straggler
  double examples = 0;
  double evaluations = 0;  ///< without the first one, which is part of the warm-up
};
/// The run length of a valid cell.
RunLength run_length(const MatrixCell& cell);

/// The source of an expectation, the best first.
enum class Basis : std::uint8_t { CellHere, CellCommitted, Strategy, Workload, ShortRun };
/// Returns the printed phrase: `runs of the same cell here`.
std::string to_string(Basis basis);

struct ExpectedTime {
  double seconds = 0;
  Basis basis = Basis::CellHere;
};

/// Finished runs that expectations are based on, by origin.
struct KnownRuns {
  std::span<const FinishedRun> here;       ///< in the matrix' folder
  std::span<const FinishedRun> committed;  ///< of this machine class
  std::span<const FinishedRun> timed;      ///< short_run()
};

/// Estimates the time of a run; empty if no known run applies.
std::optional<ExpectedTime> expected_time(const RunLength& run, const KnownRuns& known);

/// Reads records in the checkout's results/ from the same processor with the same extensions,
/// number of cores and GPUs. An installed program has none.
std::vector<FinishedRun> committed_runs(const MachineFacts& machine);

/// Runs a few small steps of `single` on generated data in a temporary folder; empty if that fails
/// or takes longer than the deadline.
std::optional<FinishedRun> short_run(const RunLength& run, Deadline deadline);

}  // namespace regatta
