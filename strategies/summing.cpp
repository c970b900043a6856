// SPDX-License-Identifier: Apache-2.0
#include "strategies/summing.h"

#include <cstdint>
#include <optional>

#include "kernels/base/error.h"
#include "kernels/graph/collective.h"
#include "strategies/shared_options.h"

namespace regatta {

Summing summing_of(const StrategyOptions& options) {
  Summing summing{.algorithm = options.choice(kAlgorithm)};
  const std::optional<TorusShape> sides = options.sides_if_any(kTorusSides);
  if (!sides) return summing;
  if (summing.algorithm != kTorus) {
    throw RunError(ErrorKind::Usage, "--torus is for --all-reduce torus, and this is " +
                                         summing.algorithm + "; fix: leave it out");
  }
  const std::int64_t replicas = options.replicas;
  if (replicas % sides->columns != 0 || replicas / sides->columns != sides->rows) {
    throw RunError(ErrorKind::Usage,
                   "--torus is " + options.choice(kTorusSides) + ", and there are " +
                       std::to_string(replicas) +
                       " replicas; fix: give columns and rows whose product is that");
  }
  summing.columns = sides->columns;
  return summing;
}

}  // namespace regatta
