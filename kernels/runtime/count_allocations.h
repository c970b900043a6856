// SPDX-License-Identifier: Apache-2.0
//
// For tests: a program linked with this counts every operator new on any thread, except allocations
// by oneDNN (a few small blocks each time a primitive runs) and by gRPC and its libraries (for
// every chunk). malloc is not counted.
#pragma once

#include <cstdint>

namespace regatta {

/// Allocations since the program began.
std::int64_t allocation_count();

}  // namespace regatta
