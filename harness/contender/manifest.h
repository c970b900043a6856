// SPDX-License-Identifier: Apache-2.0
//
// The manifest of a dump: the model's parameters, the optimizer's constants and the schedules, read
// off the training step, so that it serves every workload.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/plan/placement.h"
#include "harness/plan/race_request.h"
#include "kernels/graph/graph.h"
#include "workloads/workload.h"

namespace regatta::contender {

inline constexpr int kDumpFormat = 1;

/// The schedules of learning rates by name, each once. Shapes: [steps].
using Rates = std::vector<std::pair<std::string, std::vector<float>>>;

struct Described {
  nlohmann::ordered_json manifest;
  Rates rates;
};

/// Describes a training step. `steps`: the length of the run.
Described describe(const plan::RaceRequest& request, const plan::Placement& placement,
                   const Step& training, std::int64_t steps);

}  // namespace regatta::contender
