// SPDX-License-Identifier: Apache-2.0
//
// The values of variables as a workload knows them, whoever holds them: copies of replicas, or rows
// on several servers put together.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/run/trainer.h"

namespace regatta {

/// All copies of the variable, in the order of their places. Shapes: [elements] each.
std::vector<std::vector<float>> assemble(std::span<const VariableCopy> copies,
                                         const std::string& name);

}  // namespace regatta
