// SPDX-License-Identifier: Apache-2.0
//
// What this process may use of its machine, and what it has used.
#pragma once

#include <cstdint>
#include <vector>

namespace regatta {

/// The cores that this process may use, at most `wanted` (0: all).
/// Throws: RunError(Usage) where there are fewer than wanted.
std::vector<int> available_cores(std::int64_t wanted);

/// The most memory that it has held. Units: bytes.
std::int64_t peak_rss_bytes();

/// What a user can do about std::bad_alloc.
inline constexpr char kNotEnoughMemory[] =
    "there is not enough memory; fewer steps, a smaller --global-batch or fewer --workers need "
    "less";

}  // namespace regatta
