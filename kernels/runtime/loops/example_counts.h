// SPDX-License-Identifier: Apache-2.0
//
// The progress of the loops that this process leads. Loops that share a model claim their steps
// from one count, however unevenly. Loops of different models have a count each, so that each model
// sees its own share of the examples: the same number of steps for all.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/runtime/loops/gate.h"
#include "kernels/runtime/loops/process_loops.h"

namespace regatta {

class ExampleCounts {
 public:
  /// `loops` outlives this.
  explicit ExampleCounts(const ProcessLoops& loops);

  /// The count from which the loop claims its steps.
  ExampleCount& of(int loop) { return counts_[static_cast<std::size_t>(loops_.model(loop))]; }
  /// The count of the only model, to which all parts of the graph belong.
  ExampleCount& of_quorum() { return counts_.front(); }
  /// Lets the loops advance until all of them together have seen `examples`. Not while they run.
  void set_target(std::int64_t examples);
  /// Examples seen by all loops together. Threads: any.
  std::int64_t seen() const;

 private:
  const ProcessLoops& loops_;
  std::vector<ExampleCount> counts_;  ///< by model
  std::int64_t led_ = 0;              ///< part of all_: examples of the loops led here
  std::int64_t all_ = 0;              ///< examples of one step of every loop
};

}  // namespace regatta
