// SPDX-License-Identifier: Apache-2.0
//
// Parses --straggler, which slows workers down on purpose.
#pragma once

#include <map>
#include <string>

namespace regatta::plan {

/// Parses `W:F[,W:F...]`, where worker W takes F times as long. Returns the factor of each slow
/// worker. Throws: RunError(Usage).
std::map<int, double> parse_stragglers(const std::string& text);

}  // namespace regatta::plan
