// SPDX-License-Identifier: Apache-2.0
//
// Facts about the loops in a process's part of the graph: which process leads each loop, and how
// many examples a step has. If the graph has a single loop, every process leads it for itself,
// because all processes advance in step. If there are several, each loop is led by the first
// process that takes part in it; with a parameter server, that is the server's process. Arguments
// `loop` are indices within the part; number() converts them to indices in the whole graph.
#pragma once

#include <cstdint>

#include "kernels/graph/graph.h"
#include "kernels/runtime/plan.h"

namespace regatta {

class ProcessLoops {
 public:
  /// The arguments must outlive this object.
  ProcessLoops(const Step& part, const Plan& plan) : part_(part), plan_(plan) {}

  int count() const { return plan_.loop_count(); }
  int count_of_all() const { return is_partitioned() ? part_.partition.loops : count(); }
  int number(int loop) const { return is_partitioned() ? loop_part(loop).number : loop; }
  /// Returns the number of models that the whole graph trains; model() returns the index of the
  /// model that a loop trains (kernels/distribute/loops.h).
  int models() const { return is_partitioned() ? part_.partition.models : 1; }
  int model(int loop) const { return is_partitioned() ? loop_part(loop).model : 0; }
  bool leads(int loop) const {
    return advances_alike() || loop_part(loop).processes.front() == part_.partition.process;
  }
  /// Whether this process need not send the loop's tickets to any other process.
  bool is_alone(int loop) const {
    return advances_alike() || loop_part(loop).processes.size() == 1;
  }
  /// Returns the examples of one step of the loop, over all processes. Aborts if the loop has no
  /// input.
  std::int64_t examples(int loop) const;
  /// Returns the examples of one step, summed over the loops of `model` that this process leads;
  /// all_examples() sums over all loops of the graph.
  std::int64_t led_examples(int model) const;
  std::int64_t all_examples() const;

 private:
  bool is_partitioned() const { return !part_.partition.parts.empty(); }
  bool advances_alike() const { return !is_partitioned() || part_.partition.loops == 1; }
  const LoopPart& loop_part(int loop) const {
    return part_.partition.parts[static_cast<std::size_t>(loop)];
  }

  const Step& part_;
  const Plan& plan_;
};

}  // namespace regatta
