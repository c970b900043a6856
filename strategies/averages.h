// SPDX-License-Identifier: Apache-2.0
//
// Code shared by strategies whose replicas train independently and average their parameters in some
// steps.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/graph/period.h"
#include "strategies/replicas.h"
#include "strategies/strategy_options.h"

namespace regatta::strategies {

inline constexpr Option kSyncEvery = {
    .name = "sync_every",
    .help = "steps from one mean of the workers' parameters to the next",
    .unit = "steps",
    .type = Count{.default_value = 4, .least = 1}};

/// Appends, at every replica, the update of every trainable. Each replica uses the mean gradient
/// over its own share of the batch.
void update_alone(Replicas& replicas, std::int64_t global_batch);

/// The values to average, the steps in which each is averaged, and the all_reduce algorithm.
struct Averages {
  std::function<Value(Builder& builder, std::size_t trainable, std::int64_t replica)> value;
  std::function<Period(std::size_t trainable)> period;
  std::string algorithm;       ///< algorithm of the all_reduces
  std::string_view mark = {};  ///< attribute of the all_reduces, for later strategies; empty: none
};

/// Appends the mean of each value over the replicas, weighted by the number of examples per
/// replica. Element [t][r] of the result is the mean for trainable t, as a value at replica r.
std::vector<std::vector<Value>> mean_values(Replicas& replicas, std::int64_t global_batch,
                                            const Averages& averages);

}  // namespace regatta::strategies
