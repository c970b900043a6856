// SPDX-License-Identifier: Apache-2.0
//
// A node may take part in some steps only: in every step before `from`, then in every `every`-th.
// Averaging every H steps is such an exchange. In the other steps its kernel does not run, and
// nothing crosses. Who reads a value takes part in no other steps than its maker does (verify.h).
#pragma once

#include <cstdint>
#include <set>

#include "kernels/graph/graph.h"

namespace regatta {

/// Units: steps, counted from 0.
struct Period {
  std::int64_t every = 1;
  std::int64_t from = 0;

  constexpr bool is_due(std::int64_t step) const {
    return step < from || (step + 1 - from) % every == 0;
  }
  /// How many of the first `steps` steps.
  constexpr std::int64_t due_in(std::int64_t steps) const {
    return steps <= from ? steps : from + (steps - from) / every;
  }
  bool operator==(const Period&) const = default;
};

/// That of a node without attributes `every` and `from` is every step.
Period period_of(const Node& node);

/// Whether all nodes take part in every step.
bool steps_are_alike(const Graph& graph);

/// The smallest number of first steps in which every node has taken part.
std::int64_t steps_with_all_nodes(const Graph& graph);

/// Variables that an exchange assigns in some steps only: between these, replicas hold different
/// values, and what the run has learned is their mean.
std::set<VariableId> averaged_variables(const Graph& graph);

}  // namespace regatta
