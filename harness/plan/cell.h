// SPDX-License-Identifier: Apache-2.0
//
// The cell of a request, as written to the record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/plan/layout.h"
#include "harness/plan/placement.h"
#include "harness/record/record.h"

namespace regatta {

/// The facts of a cell that are not in the request.
struct CellFacts {
  std::string dataset;
  int cores = 1;  ///< owned by the run
};

Cell cell_of(const RaceRequest& request, const Placement& placement, const CellFacts& facts);

/// Sets the cell's threads per worker, number of GPUs, and whether cores are oversubscribed or GPUs
/// shared. If hosts differ, the cell has the fewest threads, and one oversubscribed or sharing host
/// is enough.
void count_cores(const std::vector<HostCores>& hosts, Cell& cell);

}  // namespace regatta
