// SPDX-License-Identifier: Apache-2.0
//
// A recipe may train a parameter for only a part of the run: its learning rate is zero from some
// point of its schedule to the last point. From there on, its update changes nothing, so the
// executor skips the update and the backward nodes that compute only its gradient. If the rate is
// zero at the last point only, nothing expires: the step at that point is computed like any other.
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
