// SPDX-License-Identifier: Apache-2.0
//
// The steps in which a node takes part. It takes part in every step before `from`. From there on,
// steps are counted in groups of `every`, and the node takes part `lag` steps after the last step
// of each group; averaging every H steps is an example. Alternatively, it takes part in the steps
// in which a replica draws a certain peer (draw_peer() in random.h). node_steps.h adds further
// conditions. In all other steps the node's kernel does not run, and its value is not sent. A node
// may take part only in steps in which the nodes that compute its inputs do (verify.h); a value is
// sent to another place in the steps in which a node there reads it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "kernels/graph/graph.h"

namespace regatta {

/// The steps in which `replica` draws peer number `peer` out of `peers` peers.
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
  std::int64_t lag = 0;               ///< steps after the last step of a group; above -every
  std::optional<PeerDraw> draw = {};  ///< replaces the fields above

  bool is_due(std::int64_t step) const {
    if (draw) return draw->is_in(step);
    const std::int64_t ordinal = step + 1 - from - lag;
    return step < from || (ordinal >= every && ordinal % every == 0);
  }
  /// Returns the number of due steps among the first `steps` steps.
  std::int64_t due_in(std::int64_t steps) const;
  /// Returns the first due step after those that are due because they come before `from`. Steps
  /// between `from` and this one do not run the node.
  std::int64_t first_behind_start() const;
  auto operator<=>(const Period&) const = default;
};

/// Returns the period in the attributes `every`, `after` and `lag`, or `drawn`; a node without them
/// takes part in every step. `after` holds Period::from, because sends and receives use the
/// attribute `from` for a place.
Period period_of(const Node& node);
void set_period(Attributes& attributes, const Period& period);

/// Whether all nodes with inputs or outputs take part in every step. Nodes without either, such as
/// lookahead, may skip steps: they exchange no values.
bool exchanges_are_alike(const Graph& graph);

/// Returns the smallest n such that every node takes part in at least one of the first n steps.
/// steps_with_all_exchanges() considers only nodes with inputs or outputs.
std::int64_t steps_with_all_nodes(const Graph& graph);
std::int64_t steps_with_all_exchanges(const Graph& graph);

/// Returns, for each value and each other place that reads it, the steps in which the value is sent
/// to that place: the steps of its readers there or, if their periods differ, the steps of the node
/// that computes the value.
std::map<std::pair<Value, Place>, Period> periods_of_travel(const Graph& graph);

}  // namespace regatta
