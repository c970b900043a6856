// SPDX-License-Identifier: Apache-2.0
#include "strategies/summing.h"

#include <cstdint>

#include "kernels/base/error.h"
#include "kernels/graph/collective_messages.h"
#include "strategies/shared_options.h"

namespace regatta::strategies {

std::string algorithm_of(const StrategyOptions& options) {
  const std::string algorithm = options.choice(kAlgorithm);
  const auto sides = options.sides_if_any(kTorusSides);
  if (!sides) return algorithm;
  if (algorithm != kTorus) {
    throw RunError(ErrorKind::Usage, "--torus is for --all-reduce torus, and this is " + algorithm +
                                         "; fix: leave it out");
  }
  const std::int64_t replicas = options.replicas;
  const auto [columns, rows] = *sides;
  if (replicas % columns != 0 || replicas / columns != rows) {
    throw RunError(ErrorKind::Usage,
                   "--torus is " + options.choice(kTorusSides) + ", and there are " +
                       std::to_string(replicas) +
                       " replicas; fix: give columns and rows whose product is that");
  }
  return to_algorithm(TorusShape{.columns = columns, .rows = rows});
}

}  // namespace regatta::strategies
