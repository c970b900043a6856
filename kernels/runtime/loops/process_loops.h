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
  int count_of_all() const { return told() ? part_.partition.loops : count(); }
  int number(int loop) const { return told() ? told_of(loop).number : loop; }
  /// Returns the number of models that the whole graph trains; model() returns the index of the
  /// model that a loop trains (kernels/distribute/loops.h).
  int models() const { return told() ? part_.partition.models : 1; }
  int model(int loop) const { return told() ? told_of(loop).model : 0; }
  bool leads(int loop) const {
    return advances_alike() || told_of(loop).processes.front() == part_.partition.process;
  }
  /// Whether this process need not send the loop's tickets to any other process.
  bool is_alone(int loop) const { return advances_alike() || told_of(loop).processes.size() == 1; }
  /// Returns the examples of one step of the loop, over all processes. Aborts if the loop has no
  /// input.
  std::int64_t examples(int loop) const;
  /// Returns the examples of one step of each loop of `model` that this process leads, added up;
  /// all_examples() adds up all loops of the graph.
  std::int64_t led_examples(int model) const;
  std::int64_t all_examples() const;

 private:
  bool told() const { return !part_.partition.parts.empty(); }
  bool advances_alike() const { return !told() || part_.partition.loops == 1; }
  const LoopPart& told_of(int loop) const {
    return part_.partition.parts[static_cast<std::size_t>(loop)];
  }

  const Step& part_;
  const Plan& plan_;
};

}  // namespace regatta
