// SPDX-License-Identifier: Apache-2.0
//
// The steps in which a node takes part: its period (period.h), the number of examples after which
// it is skipped (expiry.h), and whether the run's last step always runs it. Examples are an
// exchange every H steps, lookahead, and a layer that is frozen after some epochs.
//
// If several loops (loops.h) update shared variables, each loop counts only its own steps.
// Lookahead's period then counts steps of the global batch: a loop runs it when the examples seen
// by all loops have crossed a multiple of period × batch since this loop's previous step.
#pragma once

#include <cstdint>

#include "kernels/graph/expiry.h"
#include "kernels/graph/graph.h"
#include "kernels/graph/period.h"

namespace regatta {

/// A step of a loop, and the numbers of examples seen around it. Units: examples; steps, from 0.
struct StepMoment {
  std::int64_t step = 0;
  std::int64_t examples = 0;  ///< seen by all loops of the model when the step begins
  std::int64_t before = 0;    ///< `examples` of the loop's previous step; 0 in its first step
  std::int64_t batch = 0;     ///< examples in the step's batch; 0: the global batch
};

struct NodeSteps {
  Period period;
  /// Steps that begin with at least this many examples seen skip the node.
  std::int64_t until = kNeverExpires;
  /// A step after which at least this many examples are seen runs the node even if its period
  /// excludes it.
  std::int64_t run_examples = kNeverExpires;
  std::int64_t global_batch = 0;
  bool loops_step_apart = false;

  constexpr bool is_in_period(const StepMoment& moment) const {
    if (!loops_step_apart) return period.is_due(moment.step);
    const std::int64_t examples = period.every * global_batch;
    return moment.examples / examples != moment.before / examples;
  }
  constexpr bool is_due(const StepMoment& moment) const {
    if (moment.examples >= until) return false;
    return is_in_period(moment) || seen_after(moment) >= run_examples;
  }
  constexpr std::int64_t seen_after(const StepMoment& moment) const {
    return moment.examples + (moment.batch != 0 ? moment.batch : global_batch);
  }
  /// Whether the node's period may exclude some steps.
  constexpr bool may_rest() const { return loops_step_apart || period != Period{}; }
  constexpr bool is_every_step() const { return !may_rest() && until == kNeverExpires; }
  auto operator<=>(const NodeSteps&) const = default;
};

/// Reads the attributes `every`, `after`, `lag` (period.h), and `until`, and those of a lookahead,
/// `global_batch`, `total_examples` and `loops_step_apart`. A node without them takes part in every
/// step.
NodeSteps node_steps(const Node& node);
void set_until(Attributes& attributes, std::int64_t until);
/// Sets the attribute `loops_step_apart` of a lookahead, which marks that several loops (loops.h)
/// update its variables.
void set_loops_step_apart(Attributes& attributes);

}  // namespace regatta
