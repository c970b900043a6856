// SPDX-License-Identifier: Apache-2.0
//
// Resources of this process: its host, the cores that it may use and the memory that it has used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/graph/error.h"

namespace regatta {

/// As its machine names itself.
std::string host_name();

/// The cores that this process may use, at most `wanted` (0: all). A CPU limit of the control group
/// leaves as many as run without being held back: one of 1.5, and one of 0.6, which is held back.
/// Throws: RunError(Usage) if there are fewer than wanted.
std::vector<int> available_cores(std::int64_t wanted);

/// Peak resident memory. Units: bytes.
std::int64_t peak_rss_bytes();

/// The exception that is being handled, in a catch clause: one of memory, threads or files as an
/// error that says what to do. Throws: the exception, if it is another.
RunError current_run_error();

}  // namespace regatta
