// SPDX-License-Identifier: Apache-2.0
//
// Chooses the number of parts into which a lane's threads divide a loop. Small loops stay on one
// thread.
#pragma once

#include <cstdint>

namespace regatta {

/// A loop over fewer elements than this stays on one thread: entering a parallel region costs about
/// 2 us, as much time as 16 Ki elements of a memory-bound loop.
inline constexpr std::int64_t kParallelElements = 32768;

/// Returns the number of parts for a loop over `elements` elements in a lane with `threads`
/// threads.
inline int parts_for(int threads, std::int64_t elements) {
  return elements < kParallelElements ? 1 : threads;
}

}  // namespace regatta
