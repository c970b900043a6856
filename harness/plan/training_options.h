// SPDX-License-Identifier: Apache-2.0
//
// From a request to what an executor is built with: the same in a race that trains by itself and in
// each of its ranks.
#pragma once

#include <map>
#include <string>

#include "harness/plan/placement.h"
#include "kernels/runtime/executor.h"

namespace regatta {

/// The data set's name: the workload's first unless the request has one.
std::string dataset_of(const RaceRequest& request, const Workload& workload);

/// All but the cores, with the stragglers of a process.
ExecutorOptions executor_options(const RaceRequest& request, const Placement& placement,
                                 const DataSet& train, int process);

}  // namespace regatta
