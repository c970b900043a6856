// SPDX-License-Identifier: Apache-2.0
//
// A node may take part in some steps only: in every step before `from`, then in every `every`-th,
// `lag` steps after the last of these. Averaging every H steps is such an exchange. Alternatively
// it takes part in the steps in which a replica draws one peer of several (draw_peer() in
// random.h). node_steps.h adds further conditions. In the other steps its kernel does not run, and
// no value crosses. A node that reads a value takes part only in steps of the node that makes it
// (verify.h); to another place a value travels in the steps in which it is read there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "kernels/graph/graph.h"

namespace regatta {

/// The steps in which a replica draws peer `peer` of `peers`.
struct PeerDraw {
  std::int64_t replica = 0;
  std::int64_t peers = 1;
  std::int64_t peer = 0;
  bool is_in(std::int64_t step) const;
  auto operator<=>(const PeerDraw&) const = default;
};

/// Units: steps, counted from 0.
struct Period {
  std::int64_t every = 1;
  std::int64_t from = 0;
  std::int64_t lag = 0;               ///< more than -every; negative: before the last of these
  std::optional<PeerDraw> draw = {};  ///< replaces the fields above

  bool is_due(std::int64_t step) const {
    if (draw) return draw->is_in(step);
    const std::int64_t ordinal = step + 1 - from - lag;
    return step < from || (ordinal >= every && ordinal % every == 0);
  }
  /// The number of due steps among the first `steps`.
  std::int64_t due_in(std::int64_t steps) const;
  /// The first due step that is not one of those before `from`; earlier ones may skip the node.
  std::int64_t first_behind_start() const;
  auto operator<=>(const Period&) const = default;
};

/// Reads the attributes `every`, `after` (for `from`, which names a place in nodes that travel) and
/// `lag`, or `drawn`; without them: every step.
Period period_of(const Node& node);
void set_period(Attributes& attributes, const Period& period);

/// Whether all nodes with inputs or outputs take part in every step. A node without either, such as
/// lookahead, does not affect the work of others.
bool exchanges_are_alike(const Graph& graph);

/// The smallest number of first steps in which every node has taken part, or every node with inputs
/// or outputs.
std::int64_t steps_with_all_nodes(const Graph& graph);
std::int64_t steps_with_all_exchanges(const Graph& graph);

/// When each value that is read at another place travels there: in the steps of its readers or, if
/// these differ, in the steps of the node that makes it.
std::map<std::pair<Value, Place>, Period> periods_of_travel(const Graph& graph);

}  // namespace regatta
