// SPDX-License-Identifier: Apache-2.0
//
// The manifest of a dump, read off the training step, so that it serves every workload.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "harness/plan/placement.h"
#include "harness/plan/race_request.h"
#include "kernels/graph/graph.h"

namespace regatta::contender {

inline constexpr int kDumpFormat = 1;

struct Manifest {
  nlohmann::ordered_json text;
  /// The learning rate of each step, by name of the schedule.
  std::vector<std::pair<std::string, std::vector<float>>> rates;
};

Manifest manifest_of(const plan::RaceRequest& request, const plan::Placement& placement,
                     const Step& training);

}  // namespace regatta::contender
