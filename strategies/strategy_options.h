// SPDX-License-Identifier: Apache-2.0
//
// The parameters of a strategy's rewrite.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/base/option.h"
#include "kernels/graph/graph.h"

namespace regatta::strategies {

/// The list of options in a strategy's declaration: `options<kServers, kBucketBytes>`.
template <const Option&... declared>
inline constexpr std::array<const Option*, sizeof...(declared)> options = {&declared...};

/// The options given for the strategy, and the division of its workers.
struct StrategyOptions : ChosenOptions {
  std::int64_t replicas = 1;
  std::int64_t stages = 1;
  std::int64_t shards = 1;
  /// The numbers of replicas and shards of which only one is built (Strategy::builds).
  Alike alike = {};
};

}  // namespace regatta::strategies
