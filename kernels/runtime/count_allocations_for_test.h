// SPDX-License-Identifier: Apache-2.0
//
// For tests: a program linked with this counts every operator new, from any thread, but for those
// that oneDNN calls, which makes a few small blocks whenever a primitive runs, and gRPC with the
// library below it, for every chunk. malloc is not counted.
#pragma once

#include <cstdint>

namespace regatta {

/// Allocations since the program began.
std::int64_t allocation_count();

}  // namespace regatta
