// SPDX-License-Identifier: Apache-2.0
//
// A node may take part in some steps only: in every step before `from`, then in every `every`-th,
// `lag` steps behind the last of these. Averaging every H steps is such an exchange. Or it takes
// part in the steps in which a replica draws one peer of several (draw_peer() in random.h).
// node_steps.h has what else a node may say of its steps. In the other steps its kernel does not
// run, and nothing crosses. Who reads a value takes part in no other steps than its maker does
// (verify.h); to another place a value travels when it is read there.
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
  std::int64_t lag = 0;               ///< more than -every; negative: ahead of the last of `every`
  std::optional<PeerDraw> draw = {};  ///< replaces the above

  bool is_due(std::int64_t step) const {
    if (draw) return draw->is_in(step);
    const std::int64_t ordinal = step + 1 - from - lag;
    return step < from || (ordinal >= every && ordinal % every == 0);
  }
  /// How many of the first `steps` steps.
  std::int64_t due_in(std::int64_t steps) const;
  /// The first step of those that do not begin the run, before which there may be steps without it.
  std::int64_t first_behind_start() const;
  auto operator<=>(const Period&) const = default;
};

/// Attributes `every`, `after` (`from` is a place of what travels) and `lag`, or `drawn`; that of a
/// node without them is every step.
Period period_of(const Node& node);
void set_period(Attributes& attributes, const Period& period);

/// Whether all nodes that give or take values take part in every step. One that does neither, such
/// as lookahead, leaves the work of others as it is.
bool exchanges_are_alike(const Graph& graph);

/// The smallest number of first steps in which every node has taken part, or every one that gives
/// or takes values.
std::int64_t steps_with_all_nodes(const Graph& graph);
std::int64_t steps_with_all_exchanges(const Graph& graph);

/// When the values that are read at other places than they are made at travel there: in the steps
/// of their readers or, where these differ, in the maker's.
std::map<std::pair<Value, Place>, Period> periods_of_travel(const Graph& graph);

}  // namespace regatta
