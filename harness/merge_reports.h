// SPDX-License-Identifier: Apache-2.0
//
// The reports of a run's processes as one.
#pragma once

#include <vector>

#include "harness/trainer.h"

namespace regatta {

/// Workers stand in the order of their places, loops in that of their numbers. The histories of one
/// loop in several processes become one: losses add up, and a step takes as long as at the slowest.
TrainingReport merged(const std::vector<TrainingReport>& parts);

}  // namespace regatta
