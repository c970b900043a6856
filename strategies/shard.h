// SPDX-License-Identifier: Apache-2.0
//
// Divides the parameters of a step, with their slots and updates, among servers by bytes. Every
// strategy with servers applies it first. It sets the stage of variables and updates to their
// server's number; the strategy then sets their role.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/graph/graph.h"

namespace regatta {

/// Server k of S holds the k-th of S equal ranges of all parameters laid end to end. A parameter of
/// at least kSplitBytes is cut at the row border nearest to a range's end; a smaller one goes to
/// the server with its middle in the range. Readers concatenate the parts. The servers cast
/// parameters, so that parts are sent in the element type that readers need. Throws:
/// RunError(Usage) if the step is already divided into stages, if `servers` is below 1, or if a
/// server would hold no parameter.
Step shard(const Step& step, std::int64_t servers, std::string_view strategy);

inline constexpr std::int64_t kSplitBytes = 16 * 1024;

}  // namespace regatta
