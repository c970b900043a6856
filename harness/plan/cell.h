// SPDX-License-Identifier: Apache-2.0
//
// What was asked for, as a record tells it: the cell of a request.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/plan/layout.h"
#include "harness/plan/placement.h"
#include "harness/record/record.h"

namespace regatta {

/// What a request alone does not say.
struct CellFacts {
  std::string dataset;
  int cores = 1;  ///< that the run owns
};

Cell cell_of(const RaceRequest& request, const Placement& placement, const CellFacts& facts);

/// Threads, whether they have a core each, and workers a GPU; of hosts that differ, those of the
/// worst off.
void count_cores(const std::vector<HostCores>& hosts, Cell& cell);

/// `W:F[,W:F...]`. Throws: RunError(Usage).
std::map<int, double> parse_stragglers(const std::string& text);

}  // namespace regatta
