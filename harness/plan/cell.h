// SPDX-License-Identifier: Apache-2.0
//
// Computes the cell of a request, as it is written to the record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/plan/layout.h"
#include "harness/plan/placement.h"
#include "harness/record/record.h"

namespace regatta::plan {

/// Facts for a cell that are neither in the request nor in the placement.
struct CellFacts {
  std::string dataset;  ///< name of the data set
  int cores = 1;        ///< number of cores that the run may use
};

record::Cell cell_of(const RaceRequest& request, const Placement& placement,
                     const CellFacts& facts);

/// Sets the cell's `threads_per_worker`, `gpus`, `oversubscribed` and `shared_gpu` from all hosts
/// of the run. If hosts differ, `threads_per_worker` is the smallest, and `oversubscribed` or
/// `shared_gpu` is true if it is true of one host.
void count_cores(const std::vector<HostCores>& hosts, record::Cell& cell);

}  // namespace regatta::plan
