// SPDX-License-Identifier: Apache-2.0
//
// For tests: counts the calls of operator new in all threads of a program that is linked with this
// file. Calls of oneDNN (a few small blocks whenever a primitive runs) and of gRPC and the library
// below it (for each chunk) do not count, nor does malloc.
#pragma once

#include <cstdint>

namespace regatta {

/// Allocations since the program began.
std::int64_t allocation_count();

}  // namespace regatta
