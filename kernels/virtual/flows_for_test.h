// SPDX-License-Identifier: Apache-2.0
//
// Flows through links and the times at which SimGrid ends them: an independent oracle for Network.
// simgrid_for_test.cpp runs SimGrid; no_simgrid_for_test.cpp replaces it in a build without it.
#pragma once

#include <optional>
#include <vector>

#include "kernels/virtual/network.h"

namespace regatta::virtual_time {

/// A flow. Units: any time unit, and bytes per that unit.
struct TestFlow {
  double begins = 0;
  double bytes = 0;
  double most = kNoLimit;  ///< limit of its rate
  std::vector<int> links;  ///< indices of TestFlows::capacities
};

struct TestFlows {
  std::vector<double> capacities;  ///< by link
  std::vector<TestFlow> flows;
};

/// Returns for each flow the time at which its last byte arrives; nullopt without SimGrid. Call it
/// once per process, since SimGrid has one engine in each.
std::optional<std::vector<double>> ends_by_simgrid(const TestFlows& flows);

}  // namespace regatta::virtual_time
