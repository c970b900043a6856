// SPDX-License-Identifier: Apache-2.0
//
// Assembles the values of a workload's variables from the places that hold them: copies on
// replicas, or parts on servers, on workers or on the shards of each replica.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/run/trainer.h"

namespace regatta::run {

/// Assembles every full copy of the variable whose judged_name() is `name`, ordered by place. Each
/// is a flat vector of all elements.
std::vector<std::vector<float>> assemble(std::span<const VariableCopy> copies,
                                         const std::string& name);

}  // namespace regatta::run
