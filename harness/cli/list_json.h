// SPDX-License-Identifier: Apache-2.0
//
// `regatta list --format json`, for scripts.
#pragma once

#include <ostream>
#include <string>

namespace regatta::cli {

/// Prints a JSON object with the members workloads, strategies, tiers and devices, or with only the
/// member `what` if that is not empty.
void list_as_json(std::ostream& out, const std::string& what);

}  // namespace regatta::cli
