// SPDX-License-Identifier: Apache-2.0
//
// Run ids, and secrets of the same form.
#pragma once

#include <string>

namespace regatta {

/// `bytes` random bytes from the system, as hexadecimal digits.
std::string random_hexadecimal(int bytes);
/// Length of a run id. Units: bytes.
inline constexpr int kRunIdBytes = 16;

}  // namespace regatta
