// SPDX-License-Identifier: Apache-2.0
//
// The flags that say which race is run: those of `regatta run`, some of which `graph` has, too, and
// a matrix file names as its keys.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "harness/plan/race_request.h"

namespace regatta {

/// What says which race: shared by run and graph. The request outlives parsing.
void declare_cell(CLI::App& app, RaceRequest& request);

/// Of `regatta run`, as text: what a request holds in another form.
struct RunTexts {
  std::string stragglers;
  std::string out = "out";  ///< folder of records.jsonl
};

/// All of `regatta run`.
void declare_run(CLI::App& app, RaceRequest& request, RunTexts& texts);

/// What follows from texts and the whole line. Throws: RunError(Usage).
void complete(RaceRequest& request, const RunTexts& texts, int argc, const char* const* argv);

/// What `regatta run` would race with these arguments.
/// Throws: RunError(Usage), as the command line would say it.
RaceRequest parse_run(const std::vector<std::string>& arguments);

/// Flags of `regatta run` that make a cell: what a matrix may vary.
std::vector<std::string> cell_flags();

}  // namespace regatta
