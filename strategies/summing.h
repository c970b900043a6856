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
  std::int64_t columns = 0;  ///< columns of a torus; 0: the torus nearest to a square
};

/// Returns the all_reduce algorithm and the number of torus columns. Throws: RunError(Usage) if
/// `--torus` is given but the algorithm is not torus, or columns times rows is not the number of
/// replicas.
Summing summing_of(const StrategyOptions& options);

}  // namespace regatta
