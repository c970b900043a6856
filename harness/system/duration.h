// SPDX-License-Identifier: Apache-2.0
//
// Parses durations that users write, and formats estimates of durations for them.
#pragma once

#include <string>

namespace regatta::system {

/// Parses a positive number with a unit into seconds: `90s`, `3min`, `1.5h`.
/// Throws: RunError(Usage) whose message begins with `flag`.
double parse_duration(const std::string& flag, const std::string& text);

/// Formats a duration, rounded because it is an estimate: `3.2 s`, `41 s`, `12 min`, `3 h`.
std::string rough_duration(double seconds);

}  // namespace regatta::system
