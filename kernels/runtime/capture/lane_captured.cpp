// SPDX-License-Identifier: Apache-2.0
//
// Lanes of a loop with steps that are launched as one (captured_loop.h): the leader's thread runs
// the steps, the other lanes' threads sleep.
#include "kernels/base/error.h"
#include "kernels/runtime/capture/captured_loop.h"
#include "kernels/runtime/lane.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta {

void Lane::fetch_losses_of(NodeId node) const {
  for (const LossProbe& probe : probes_) {
    if (probe.node == node) fetch(probe);
  }
}

/// Runs one step and returns its end. Units: ticks.
std::uint64_t Lane::run_captured(const StepContext& context, std::uint64_t begin) {
  try {
    captured_->run(context, options_.patience);
  } catch (const RunError& error) {
    throw RunError(error.kind(), where_in_step() + error.what());
  }
  const std::uint64_t end = ticks();
  for (Lane* lane : captured_->lanes()) {
    lane->end_captured(end - begin);
    if (lane != this) lane->end_step(context, end - begin);
  }
  return end;
}

/// Counts the whole step as compute of its workers: a captured step cannot be broken down.
void Lane::end_captured(std::uint64_t span) {
  spent_[static_cast<std::size_t>(Category::Compute)] += span;
  for (const LossProbe& probe : probes_) check_loss(probe);
}

}  // namespace regatta
