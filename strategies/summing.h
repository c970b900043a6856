// SPDX-License-Identifier: Apache-2.0
//
// How `--all-reduce` and `--torus` say that sums are taken, for strategies that declare both.
#pragma once

#include <cstdint>
#include <string>

#include "strategies/option.h"

namespace regatta {

struct Summing {
  std::string algorithm;
  std::int64_t columns = 0;  ///< of a torus; 0: as near to a square as the replicas allow
};

/// Throws: RunError(Usage) for a torus that does not have the replicas' number of members, or that
/// nothing sums by.
Summing summing_of(const StrategyOptions& options);

}  // namespace regatta
