// SPDX-License-Identifier: Apache-2.0
//
// `regatta list --format json`, for scripts.
#pragma once

#include <ostream>
#include <string>

namespace regatta {

/// An object with a member for each of workloads, strategies, tiers and devices, or for `what` of
/// them.
void list_as_json(std::ostream& out, const std::string& what);

}  // namespace regatta
