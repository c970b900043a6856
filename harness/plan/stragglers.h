// SPDX-License-Identifier: Apache-2.0
//
// Workers slowed down on purpose, as --straggler names them.
#pragma once

#include <map>
#include <string>

namespace regatta {

/// Parses `W:F[,W:F...]`: workers and their slowdown factors. Throws: RunError(Usage).
std::map<int, double> parse_stragglers(const std::string& text);

}  // namespace regatta
