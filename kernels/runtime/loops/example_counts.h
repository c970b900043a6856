// SPDX-License-Identifier: Apache-2.0
//
// The progress of the loops that this process leads, as one count of examples per model. Loops of
// one model claim their steps from its count, and may advance at different speeds. Each model has a
// count of its own, so that every model gets the same number of steps.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/runtime/loops/gate.h"
#include "kernels/runtime/loops/process_loops.h"

namespace regatta {

class ExampleCounts {
 public:
  /// `loops` must outlive this object.
  explicit ExampleCounts(const ProcessLoops& loops);

  /// Returns the count from which the loop claims its steps.
  ExampleCount& of(int loop) { return counts_[static_cast<std::size_t>(loops_.model(loop))]; }
  /// Returns the count of a graph with a quorum, which has only one model.
  ExampleCount& of_quorum() { return counts_.front(); }
  /// Lets the loops advance until all of them together have seen `examples`. Not called while they
  /// run.
  void set_target(std::int64_t examples);
  /// Returns the examples that all loops together have seen. Threads: any.
  std::int64_t seen() const;

 private:
  const ProcessLoops& loops_;
  std::vector<ExampleCount> counts_;  ///< `counts_[m]` is that of model m
  std::int64_t led_ = 0;              ///< part of all_: examples of the loops led here
  std::int64_t all_ = 0;              ///< examples of one step of every loop
};

}  // namespace regatta
