// SPDX-License-Identifier: Apache-2.0
//
// Run ids, secrets of the same form, and the time of a run.
#pragma once

#include <string>

namespace regatta {

/// `bytes` random bytes from the system, as hexadecimal digits.
std::string random_hexadecimal(int bytes);
/// Length of a run id. Units: bytes.
inline constexpr int kRunIdBytes = 16;

/// The current time in UTC, like 2026-01-31T12:00:00Z.
std::string utc_timestamp();

}  // namespace regatta
