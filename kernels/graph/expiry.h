// SPDX-License-Identifier: Apache-2.0
//
// A recipe may train a parameter for only a part of the run: the learning rate is zero from some
// point of the schedule to the last. The update then changes nothing, so the executor skips it and
// the backward nodes that compute only its gradient. If the rate is zero at the last point only,
// nothing expires: the step at that point is computed like any other.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

inline constexpr std::int64_t kNeverExpires = std::numeric_limits<std::int64_t>::max();

/// Returns the expiry of each node, or kNeverExpires: steps that begin with at least this many
/// examples seen skip the node. Units: examples.
std::vector<std::int64_t> expiries(const Step& step);

}  // namespace regatta
