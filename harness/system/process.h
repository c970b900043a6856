// SPDX-License-Identifier: Apache-2.0
//
// Resources of this process: its host, the cores that it may use and its peak memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/error.h"

namespace regatta::system {

std::string host_name();

/// The ids of the logical cores that this process may use: the first `wanted`, or all if `wanted`
/// is 0. The control group's CPU limit is rounded down to whole cores, but to at least one, which
/// is then throttled. Throws: RunError(Usage) if there are fewer than `wanted`.
std::vector<int> available_cores(std::int64_t wanted);

std::int64_t peak_rss_bytes();

/// Converts the exception that is being handled into a RunError; call it in a catch clause. A lack
/// of memory, threads or open files becomes an error with a remedy. Throws: any other exception
/// again.
RunError current_run_error();

}  // namespace regatta::system
