// SPDX-License-Identifier: Apache-2.0
//
// The flags of `regatta run`. `regatta graph` has some of them; a matrix file has them as keys.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "harness/plan/race_request.h"
#include "workloads/workload.h"

namespace regatta {

/// Declares the flags that `run` and `graph` share. The request outlives parsing.
void declare_cell(CLI::App& app, RaceRequest& request);

/// Declares which hosts ranks run on, for `run` and `calibrate`. The request outlives parsing.
void declare_reach(CLI::App& app, RaceRequest& request);

/// Flags of `regatta run` as text, which complete() converts for the request.
struct RunTexts {
  std::string stragglers;
  std::string out = "out";  ///< folder of records.jsonl
};

/// Declares all flags of `regatta run`. Request and texts outlive parsing.
void declare_run(CLI::App& app, RaceRequest& request, RunTexts& texts);

/// Sets the fields of the request that follow from `texts` and from the whole command line.
/// Throws: RunError(Usage).
void complete(RaceRequest& request, const RunTexts& texts, int argc, const char* const* argv);

/// The data set's name: the workload's first unless the request has one.
std::string dataset_of(const RaceRequest& request, const Workload& workload);

/// The request of `regatta run` with these arguments.
/// Throws: RunError(Usage) with the text that the command line would print.
RaceRequest parse_run(const std::vector<std::string>& arguments);

/// The runs of a request, a seed each, as if each had been asked for alone: its command and
/// arguments tell its seed and no number of seeds. Throws: RunError(Usage) for several seeds with a
/// flag that has meaning for one run only.
std::vector<RaceRequest> runs_of(const RaceRequest& request);

/// Flags of `regatta run` that a matrix may vary, because they belong to the cell.
std::vector<std::string> cell_flags();

}  // namespace regatta
