// SPDX-License-Identifier: Apache-2.0
//
// For strategies that replace the sums of gradients of the strategy before them by another
// exchange.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "kernels/graph/copier.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// The sum of one gradient at one worker.
struct GradientSum {
  NodeId node = -1;           ///< the all_reduce
  VariableId parameter = -1;  ///< the parameter that the gradient belongs to
};

/// Returns the sums in the order of their groups. Throws: RunError(Usage) if there is none.
std::vector<GradientSum> gradient_sums(const Step& step, std::string_view strategy);

/// Copies all variables, and all nodes except these sums; calls `exchange` after the last sum's
/// position, where all gradients exist and no node has read a sum yet.
void copy_without(const std::vector<GradientSum>& sums, const Graph& source, Copier& copier,
                  Graph& result, const std::function<void()>& exchange);

}  // namespace regatta
