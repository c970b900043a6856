// SPDX-License-Identifier: Apache-2.0
//
// How long a run of a matrix will take, from runs that are there: of its cell, or else of its
// workload, in dtype and on the device that it asks for, and without a straggler that it does not
// ask for. A run of another cell counts by its pace:
//   seconds = set-up + examples * seconds per example + (warm-up + evaluations * seconds of each),
// the last by the sizes of the two test sets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/finished_runs.h"
#include "harness/matrix/matrix_plan.h"
#include "harness/system/machine.h"

namespace regatta {

/// What says how long a run is.
struct RunLength {
  std::string cell;  ///< its name in records
  std::string workload;
  std::string strategy;
  std::string dtype;
  std::string device;
  std::string dataset;
  std::string straggler;  ///< as --straggler takes it
  double examples = 0;
  double evaluations = 0;  ///< after the first one, which is part of the warm-up
};
/// Of a cell that can run.
RunLength run_length(const MatrixCell& cell);

/// What an expectation rests on, the best first.
enum class Basis : std::uint8_t { CellHere, CellCommitted, Strategy, Workload, ShortRun };
/// `runs of the same cell here`
std::string to_string(Basis basis);

struct ExpectedTime {
  double seconds = 0;
  Basis basis = Basis::CellHere;
};

/// Runs that tell how long others take, by where they come from.
struct KnownRuns {
  std::span<const FinishedRun> here;       ///< in the matrix' folder
  std::span<const FinishedRun> committed;  ///< of this machine class
  std::span<const FinishedRun> timed;      ///< short_run()
};

/// Nothing where no run tells.
std::optional<ExpectedTime> expected_time(const RunLength& run, const KnownRuns& known);

/// Those in the checkout's results/ of the same processor, with the same extensions and as many
/// cores. An installed program has none.
std::vector<FinishedRun> committed_runs(const MachineFacts& machine);

/// A few steps of `single` on data that needs no files, in a temporary folder; nothing when
/// that fails.
std::optional<FinishedRun> short_run(const RunLength& run);

}  // namespace regatta
