// SPDX-License-Identifier: Apache-2.0
//
// When a node takes part in a step, as the node says: its period (period.h); until when what it
// does still matters (expiry.h); and whether the step that ends the run has it in any case. An
// exchange every H steps, lookahead and a layer that is frozen after some epochs are all this.
//
// Where loops share variables, no loop counts all steps. There the period of a lookahead is of
// steps of the global batch: a loop's is due when the examples seen by all have passed another
// multiple of it since the loop's step before.
#pragma once

#include <cstdint>

#include "kernels/graph/expiry.h"
#include "kernels/graph/graph.h"
#include "kernels/graph/period.h"

namespace regatta {

/// A step of a loop. Units: steps from 0; examples.
struct StepMoment {
  std::int64_t step = 0;
  std::int64_t examples = 0;  ///< seen by all loops of the model when the step begins
  std::int64_t before = 0;    ///< the same of the loop's step before; 0 in its first
  std::int64_t batch = 0;  ///< that the step applies, where that is another than the global batch
};

struct NodeSteps {
  Period period;
  std::int64_t until = kNeverExpires;  ///< examples seen, from which on no step has the node
  /// The step that reaches so many examples seen has the node, due or not.
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
  /// Examples seen when the step has ended.
  constexpr std::int64_t seen_after(const StepMoment& moment) const {
    return moment.examples + (moment.batch != 0 ? moment.batch : global_batch);
  }
  /// Whether some steps may be without the node before it has had its last.
  constexpr bool may_rest() const { return loops_step_apart || period != Period{}; }
  constexpr bool is_every_step() const { return !may_rest() && until == kNeverExpires; }
  auto operator<=>(const NodeSteps&) const = default;
};

/// Attributes `every`, `after`, `lag` (period.h), `until`, and of a lookahead `global_batch`,
/// `total_examples` and `loops_step_apart`; of a node without them every step.
NodeSteps node_steps(const Node& node);
void set_until(Attributes& attributes, std::int64_t until);
/// Of a lookahead, in a graph whose loops share variables.
void set_loops_step_apart(Attributes& attributes);

}  // namespace regatta
