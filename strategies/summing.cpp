// SPDX-License-Identifier: Apache-2.0
#include "strategies/summing.h"

#include <cstdint>
#include <optional>

#include "kernels/base/error.h"
#include "kernels/graph/collective_messages.h"
#include "strategies/shared_options.h"

namespace regatta::strategies {

std::string algorithm_of(const StrategyOptions& options) {
  const std::string algorithm = options.choice(kAlgorithm);
  const std::optional<TorusShape> sides = options.sides_if_any(kTorusSides);
  if (!sides) return algorithm;
  if (algorithm != kTorus) {
    throw RunError(ErrorKind::Usage, "--torus is for --all-reduce torus, and this is " + algorithm +
                                         "; fix: leave it out");
  }
  const std::int64_t replicas = options.replicas;
  if (replicas % sides->columns != 0 || replicas / sides->columns != sides->rows) {
    throw RunError(ErrorKind::Usage,
                   "--torus is " + options.choice(kTorusSides) + ", and there are " +
                       std::to_string(replicas) +
                       " replicas; fix: give columns and rows whose product is that");
  }
  return to_algorithm(*sides);
}

}  // namespace regatta::strategies
