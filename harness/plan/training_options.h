// SPDX-License-Identifier: Apache-2.0
//
// Turns a request into the options of an executor, for a race in one process and for each rank.
#pragma once

#include <map>
#include <string>

#include "harness/plan/placement.h"
#include "kernels/runtime/executor.h"

namespace regatta {

/// The folder of the data set's files, and whether unverified ones are accepted.
DataFiles files_of(const RaceRequest& request);

/// place() with the size of the data set from the table of data sets, without loading it.
/// Throws: RunError(Usage), RunError(Unsupported).
Placement place_without_data(const RaceRequest& request);

/// The options of `process`, including its stragglers; the caller sets the cores.
ExecutorOptions executor_options(const RaceRequest& request, const Placement& placement,
                                 const DataSet& train, int process);

}  // namespace regatta
