// SPDX-License-Identifier: Apache-2.0
//
// `regatta list --format json`, for scripts.
#pragma once

#include <ostream>
#include <string>

namespace regatta {

/// Prints an object with members workloads, strategies, tiers and devices, or with the one that
/// `what` names.
void list_as_json(std::ostream& out, const std::string& what);

}  // namespace regatta
