// SPDX-License-Identifier: Apache-2.0
//
// Lengths of time as people write and read them.
#pragma once

#include <string>

namespace regatta {

/// Parses a positive number with a unit into seconds: `90s`, `3min`, `1.5h`.
/// Throws: RunError(Usage) that begins with `flag`.
double parse_duration(const std::string& flag, const std::string& text);

/// `3.2 s`, `41 s`, `12 min`, `3 h`: rounded as suits an estimate.
std::string rough_duration(double seconds);

}  // namespace regatta
