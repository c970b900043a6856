// SPDX-License-Identifier: Apache-2.0
//
// The flags of `regatta run`. `regatta graph` has some of them, and a matrix file has them as keys.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "harness/plan/race_request.h"
#include "workloads/workload.h"

namespace regatta {

/// Declares the flags that `run` and `graph` share. The request must outlive parsing.
void declare_cell(CLI::App& app, RaceRequest& request);

/// Declares the flags for the hosts of ranks (`run`, `calibrate`). The request must outlive
/// parsing.
void declare_reach(CLI::App& app, RaceRequest& request);

/// Flags of `regatta run` as text, which complete() converts for the request.
struct RunTexts {
  std::string stragglers;
  std::string out = "out";  ///< folder of records.jsonl
};

/// Declares all flags of `regatta run`. Request and texts must outlive parsing.
void declare_run(CLI::App& app, RaceRequest& request, RunTexts& texts);

/// Sets the fields of the request that follow from `texts` and from the whole command line.
/// Throws: RunError(Usage).
void complete(RaceRequest& request, const RunTexts& texts, int argc, const char* const* argv);

/// The data set's name: the request's, or else the workload's first.
std::string dataset_of(const RaceRequest& request, const Workload& workload);

/// The request of `regatta run` with these arguments.
/// Throws: RunError(Usage) with the text that the command line would print.
RaceRequest parse_run(const std::vector<std::string>& arguments);

/// The runs of a request, one per seed, each as if it had been requested alone: its command and
/// arguments have --seed and no --seeds. Throws: RunError(Usage) for several seeds with a flag that
/// has meaning for one run only.
std::vector<RaceRequest> runs_of(const RaceRequest& request);

/// Flags of `regatta run` that a matrix may vary, because they belong to the cell.
std::vector<std::string> cell_flags();

}  // namespace regatta
