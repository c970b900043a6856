// SPDX-License-Identifier: Apache-2.0
//
// Divides the parameters of a step, with their slots and updates, among servers, so that each
// server has about the same number of bytes. Every strategy with servers calls shard() first. It
// sets Place::stage of variables and updates to their server's number; the strategy then sets
// Place::role.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/graph/graph.h"

namespace regatta::strategies {

/// Returns the divided step. All parameters, laid end to end, are divided into `servers` ranges of
/// equal size, one for each server. A parameter of at least kSplitBytes is cut at the row border
/// nearest to a range's end; a smaller one, or one that is updated as a whole, belongs to the
/// server whose range contains its middle. Readers concatenate the parts. Servers cast parameters
/// before sending, so that parts have the element type that readers need. Throws: RunError(Usage)
/// if the step is already divided into stages, if `servers` is below 1, or if a server would hold
/// no parameter.
Step shard(const Step& step, std::int64_t servers, std::string_view strategy);

inline constexpr std::int64_t kSplitBytes = 16 * 1024;

}  // namespace regatta::strategies
