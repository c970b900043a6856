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

/// Facts about a cell that neither the request nor the placement has.
struct CellFacts {
  std::string dataset;  ///< name of the data set
  int cores = 1;        ///< number of cores that the run may use
};

record::Cell cell_of(const RaceRequest& request, const Placement& placement,
                     const CellFacts& facts);

/// Sets the cell's `threads_per_worker` to the smallest of all hosts of the run, `gpus` to the sum,
/// and `oversubscribed` and `shared_gpu` to true if they are true of any host.
void count_cores(const std::vector<HostCores>& hosts, record::Cell& cell);

}  // namespace regatta::plan
