// SPDX-License-Identifier: Apache-2.0
//
// Flows through links, and when SimGrid has them end: an oracle for Network that is another's work.
// simgrid_for_test.cpp asks it; no_simgrid_for_test.cpp stands in for it in a build without it.
#pragma once

#include <optional>
#include <vector>

#include "kernels/virtual/network.h"

namespace regatta::virtual_time {

/// Units: any time, and any bytes a time.
struct TestFlow {
  double begins = 0;
  double bytes = 0;
  double most = kNoLimit;  ///< its rate
  std::vector<int> links;  ///< indices of TestFlows::capacities
};

struct TestFlows {
  std::vector<double> capacities;  ///< by link
  std::vector<TestFlow> flows;
};

/// By flow, when its last byte has arrived; nothing in a build without SimGrid. Called once in a
/// process, as SimGrid has one engine in each.
std::optional<std::vector<double>> ends_by_simgrid(const TestFlows& flows);

}  // namespace regatta::virtual_time
