// SPDX-License-Identifier: Apache-2.0
//
// Random run ids and secrets, and the time of a run.
#pragma once

#include <string>

namespace regatta::system {

/// Returns `bytes` random bytes from the system, as 2 * `bytes` hexadecimal digits.
std::string random_hexadecimal(int bytes);
inline constexpr int kRunIdBytes = 16;

/// The current time in UTC, formatted as 2026-01-31T12:00:00Z.
std::string utc_timestamp();

}  // namespace regatta::system
