// SPDX-License-Identifier: Apache-2.0
//
// Turns a request into the options of an executor, for a run in one process and for each rank.
#pragma once

#include <map>
#include <string>

#include "harness/plan/placement.h"
#include "kernels/runtime/executor.h"

namespace regatta::plan {

/// Returns the folder of the data set's files, whether unverified files are accepted, and the
/// options.
workloads::DataFiles files_of(const RaceRequest& request);

/// Plans a run like place(), without loading the data set: takes its size from the table of data
/// sets or from the size of its files. Throws: RunError(Usage), RunError(Unsupported),
/// RunError(Data).
Placement place_without_data(const RaceRequest& request, const strategies::PassWatch& watch = {},
                             BuildPlaces build = BuildPlaces::All);

/// Returns the executor's options for the process with number `process`, including its stragglers.
/// The caller must set the cores.
ExecutorOptions executor_options(const RaceRequest& request, const Placement& placement,
                                 const DataSet& train, int process);

}  // namespace regatta::plan
