// SPDX-License-Identifier: Apache-2.0
//
// From what an executor and a transport measured to the fields of a record.
#pragma once

#include <map>
#include <string>

#include "harness/placement.h"
#include "harness/record.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/executor.h"

namespace regatta {

/// Workers, step times, training losses, bytes counted.
void summarize(const Executor& executor, const std::map<Place, MemberTraffic>& counted,
               Record& record);

/// Nodes and bytes; not the build time.
GraphRecord graph_record(const Placement& placement, const Step& placed, const Step& part);

/// Of the first weights of replica 0 and of the order of examples over the whole run.
Checksums checksums_of(Executor& executor, const Recipe& recipe, std::uint64_t seed);

/// After a synchronous run every replica holds the same bits.
/// Throws: RunError(Diverged) that names the variable that differs.
void check_replicas_agree(Executor& executor, const Placement& placement);

/// 32 random hexadecimal digits.
std::string new_run_id();
/// Now, as 2026-01-31T12:00:00Z.
std::string utc_timestamp();

}  // namespace regatta
