// SPDX-License-Identifier: Apache-2.0
//
// `regatta plan`: prints a table of strategies and degrees on a cluster, the fastest first.
#pragma once

#include <iosfwd>

#include "harness/simulate/candidate_search.h"

namespace regatta::cli {

/// Searches, with progress on standard error if that is a terminal, and prints the result.
/// Throws: RunError.
void plan_command(std::ostream& out, const simulate::SearchRequest& request);

}  // namespace regatta::cli
