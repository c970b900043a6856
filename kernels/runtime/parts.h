// SPDX-License-Identifier: Apache-2.0
//
// Chooses the number of parts into which a lane's threads divide a loop; small loops stay on one.
#pragma once

#include <cstdint>

namespace regatta {

/// A loop over fewer elements stays on one thread: entering a parallel region costs about 2 us, as
/// much as 16 Ki elements of a memory-bound loop.
inline constexpr std::int64_t kParallelElements = 32768;

/// The number of parts for a loop over this many elements.
inline int parts_for(int threads, std::int64_t elements) {
  return elements < kParallelElements ? 1 : threads;
}

}  // namespace regatta
