// SPDX-License-Identifier: Apache-2.0
//
// Declares the flags of `regatta run`. `regatta graph` has some of these flags, and the keys of a
// matrix file are flags of `regatta run`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "harness/plan/race_request.h"
#include "workloads/workload.h"

namespace regatta::plan {

/// Declares the flags that `run` and `graph` share. `request` must outlive parsing.
void declare_cell(CLI::App& app, RaceRequest& request);

/// Declares the flags that select the ranks' hosts, which `run` and `calibrate` share. `request`
/// must outlive parsing.
void declare_reach(CLI::App& app, RaceRequest& request);

/// Values of flags of `regatta run` as text, which complete() converts.
struct RunTexts {
  std::string stragglers;   ///< in the syntax of --straggler
  std::string round;        ///< in the syntax of --round
  std::string out = "out";  ///< folder of records.jsonl
};

/// Declares all flags of `regatta run`. `request` and `texts` must outlive parsing.
void declare_run(CLI::App& app, RaceRequest& request, RunTexts& texts);

/// Declares the flags of `regatta dump` that select the work. `request` must outlive parsing.
void declare_dump(CLI::App& app, RaceRequest& request);

/// Sets the fields of the request that follow from `texts` and from the whole command line.
/// Throws: RunError(Usage).
void complete(RaceRequest& request, const RunTexts& texts, int argc, const char* const* argv);

/// Returns the name of the request's data set, or of the workload's first if the request has none.
std::string dataset_of(const RaceRequest& request, const workloads::Workload& workload);

/// Parses the arguments of `regatta run` into a request.
/// Throws: RunError(Usage) with the text that `regatta run` would print.
RaceRequest parse_run(const std::vector<std::string>& arguments);

/// Splits a request into one request per seed, each as if it had been given alone: its command and
/// arguments have --seed but not --seeds. Throws: RunError(Usage) if there are several seeds and a
/// flag that is valid only for a single run, such as --trace.
std::vector<RaceRequest> runs_of(const RaceRequest& request);

/// Lists the flags of `regatta run` that may be keys of a matrix file.
std::vector<std::string> cell_flags();

}  // namespace regatta::plan
