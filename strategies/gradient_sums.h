// SPDX-License-Identifier: Apache-2.0
//
// For strategies that exchange gradients in another way than by the sums of the strategy before
// them.
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
  VariableId parameter = -1;  ///< whose gradient it is
};

/// In the order of their groups. Throws: RunError(Usage) if there is none.
std::vector<GradientSum> gradient_sums(const Step& step, std::string_view strategy);

/// Copies variables and nodes but these sums, and calls `exchange` behind the last of them: there
/// all gradients are, and nothing has read a sum yet.
void copy_without(const std::vector<GradientSum>& sums, const Graph& source, Copier& copier,
                  Graph& result, const std::function<void()>& exchange);

}  // namespace regatta
