// SPDX-License-Identifier: Apache-2.0
//
// Resources of this process: its host, the cores that it may use and its memory usage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/graph/error.h"

namespace regatta {

/// The name of this machine.
std::string host_name();

/// The cores that this process may use, at most `wanted` (0: all). A CPU limit of the control group
/// leaves as many cores as it fully covers, but at least one: 1.5 leaves one, and 0.6 leaves one,
/// which is throttled. Throws: RunError(Usage) if there are fewer than wanted.
std::vector<int> available_cores(std::int64_t wanted);

/// Peak resident memory. Units: bytes.
std::int64_t peak_rss_bytes();

/// Converts the exception of a catch clause: a lack of memory, threads or files becomes an error
/// with a remedy. Throws: the exception, if it is another.
RunError current_run_error();

}  // namespace regatta
