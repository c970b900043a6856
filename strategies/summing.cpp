// SPDX-License-Identifier: Apache-2.0
#include "strategies/summing.h"

#include <optional>

#include "kernels/graph/collective.h"
#include "kernels/graph/error.h"
#include "strategies/shared_options.h"

namespace regatta {

Summing summing_of(const StrategyOptions& options) {
  Summing summing{.algorithm = options.choice(kAlgorithm)};
  const std::optional<std::int64_t> columns = options.count_if_any(kTorusColumns);
  if (!columns) return summing;
  if (summing.algorithm != kTorus) {
    throw RunError(ErrorKind::Usage, "--torus-columns is for --all-reduce torus, and this is " +
                                         summing.algorithm + "; fix: leave it out");
  }
  if (options.replicas % *columns != 0) {
    throw RunError(ErrorKind::Usage, "--torus-columns is " + std::to_string(*columns) +
                                         ", which does not divide the " +
                                         std::to_string(options.replicas) +
                                         " replicas; fix: give a divisor");
  }
  summing.columns = *columns;
  return summing;
}

}  // namespace regatta
