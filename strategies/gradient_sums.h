// SPDX-License-Identifier: Apache-2.0
//
// Helps strategies that replace the gradient sums (all_reduces) made by the previous strategy with
// another exchange. The sums of diloco's outer gradients are gradient sums, too, but only in some
// steps.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/graph/copier.h"
#include "kernels/graph/graph.h"

namespace regatta::strategies {

/// Attribute of the sums of outer gradients.
inline constexpr std::string_view kOuterGradient = "outer_gradient";

/// The sum of one gradient at one worker.
struct GradientSum {
  NodeId node = -1;           ///< the all_reduce
  VariableId parameter = -1;  ///< the parameter, or outer parameter, that the gradient belongs to
};

/// Returns the gradient sums of a step, ordered by group number. `strategy` is the caller's name,
/// for error messages. Throws: RunError(Usage) if there are none.
std::vector<GradientSum> gradient_sums(const Step& step, std::string_view strategy);

/// Returns a slot at the place of the sum, for the part of a worker's gradient that the exchange
/// leaves out or keeps. The name is that of the parameter with `suffix`.
Variable slot_of(const Step& step, const GradientSum& sum, const std::string& suffix,
                 const TensorType& type);

/// Copies all variables and all nodes except `sums` to `result`. Calls `exchange` at the position
/// of the last sum, where all gradients exist and no node has read a sum yet.
void copy_without(const std::vector<GradientSum>& sums, const Graph& source, Copier& copier,
                  Graph& result, const std::function<void()>& exchange);

}  // namespace regatta::strategies
