// SPDX-License-Identifier: Apache-2.0
//
// Deals the parameters of a step to servers by bytes, with their slots and updates. The first
// rewrite of every strategy with servers: it sets the stage of what a server holds to the server's
// number, and leaves the role to what comes next.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/graph/graph.h"

namespace regatta {

/// Server k of S holds the k-th of S equal ranges of all parameters laid end to end. A parameter of
/// at least kSplitBytes is cut at the border between rows that is nearest; a smaller one goes where
/// its middle lies. Readers get the whole again from a concatenate; what they cast, the servers do,
/// so that the parts travel in the element type that is wanted.
/// Throws: RunError(Usage) when the step is dealt to stages already, there are no servers, or one
/// would hold nothing.
Step shard(const Step& step, std::int64_t servers, std::string_view strategy);

inline constexpr std::int64_t kSplitBytes = 16 * 1024;

}  // namespace regatta
