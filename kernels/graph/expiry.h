// SPDX-License-Identifier: Apache-2.0
//
// When a node stops mattering: a recipe may let a parameter learn for a part of the run only, by a
// rate that is zero from some count of examples on. From then on its update changes nothing, nor do
// the backward nodes that make its gradient alone; an executor leaves them out.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// For each node: in steps that begin with as many examples seen, or more, it need not run.
/// Units: examples.
std::vector<std::int64_t> expiries(const Step& step);

}  // namespace regatta
