// SPDX-License-Identifier: Apache-2.0
//
// Reads `--all-reduce` and `--torus`, for strategies that declare both.
#pragma once

#include <cstdint>
#include <string>

#include "strategies/option.h"

namespace regatta {

struct Summing {
  std::string algorithm;
  std::int64_t columns = 0;  ///< of a torus; 0: as near to a square as the number of replicas
                             ///< allows
};

/// Throws: RunError(Usage) if the torus does not have as many members as there are replicas, or if
/// the algorithm is not torus.
Summing summing_of(const StrategyOptions& options);

}  // namespace regatta
