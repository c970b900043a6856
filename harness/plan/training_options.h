// SPDX-License-Identifier: Apache-2.0
//
// From a request to the options of an executor, in a race of one process and in each rank.
#pragma once

#include <map>
#include <string>

#include "harness/plan/placement.h"
#include "kernels/runtime/executor.h"

namespace regatta {

/// Where its files lie, and which it takes.
DataFiles files_of(const RaceRequest& request);

/// place() by the sizes of the data set that the table of data sets knows.
/// Throws: RunError(Usage), RunError(Unsupported).
Placement place_without_data(const RaceRequest& request);

/// The options of `process`, with its stragglers, but without cores.
ExecutorOptions executor_options(const RaceRequest& request, const Placement& placement,
                                 const DataSet& train, int process);

}  // namespace regatta
