// SPDX-License-Identifier: Apache-2.0
//
// For tests: a program linked with this counts each call of operator new, in any thread, except
// those of oneDNN, which allocates a few small blocks whenever a primitive runs, and of gRPC and
// the library below it, which allocate for each chunk. malloc is not counted.
#pragma once

#include <cstdint>

namespace regatta {

/// Allocations since the program began.
std::int64_t allocation_count();

}  // namespace regatta
