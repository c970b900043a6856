// SPDX-License-Identifier: Apache-2.0
//
// What a run is called by, and secrets of the same form.
#pragma once

#include <string>

namespace regatta {

/// `bytes` random bytes from the system, as hexadecimal digits.
std::string random_hexadecimal(int bytes);
/// Of what a run is called by.
inline constexpr int kRunIdBytes = 16;

}  // namespace regatta
