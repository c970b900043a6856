// SPDX-License-Identifier: Apache-2.0
//
// The common part of strategies with replicas that train alone and take the mean of their
// parameters in some steps.
#pragma once

#include <functional>
#include <vector>

#include "kernels/graph/period.h"
#include "strategies/option.h"
#include "strategies/replicas.h"
#include "strategies/summing.h"

namespace regatta {

inline constexpr Option kSyncEvery = {
    .name = "sync_every",
    .help = "steps from one mean of the workers' parameters to the next",
    .unit = "steps",
    .type = Count{.default_value = 4, .least = 1}};

/// Appends the update of every trainable at every replica, by the mean gradient over the replica's
/// share of the batch.
void update_alone(Replicas& replicas, std::int64_t global_batch);

/// The averaged variables, the steps of the averages and their algorithm.
struct Averages {
  std::function<VariableId(std::size_t trainable, std::int64_t replica)> variable;
  std::function<Period(std::size_t trainable)> period;
  Summing summing;
};

/// Appends the means of the variables over the replicas, weighted by examples. Returns them by
/// trainable and replica.
std::vector<std::vector<Value>> mean_variables(Replicas& replicas, std::int64_t global_batch,
                                               const Averages& averages);

}  // namespace regatta
