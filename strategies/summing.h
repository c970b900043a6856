// SPDX-License-Identifier: Apache-2.0
//
// Reads `--all-reduce` and `--torus`, for strategies that declare both.
#pragma once

#include <string>

#include "strategies/strategy_options.h"

namespace regatta::strategies {

/// Returns the all_reduce algorithm, with the sides of a torus if they are given: `torus_3x2`.
/// Throws: RunError(Usage) if `--torus` is given but the algorithm is not torus, or columns times
/// rows is not the number of replicas.
std::string algorithm_of(const StrategyOptions& options);

}  // namespace regatta::strategies
