// SPDX-License-Identifier: Apache-2.0
//
// The loops in a process' part of the graph: the process that leads each, and the examples of a
// step. If the graph has a single loop, every process leads it for itself, because all advance
// alike. Each of several loops is led by the first process that takes part in it: the server's, if
// there is one. Loop indices count within the part; number() returns the number in the whole graph.
#pragma once

#include <cstdint>

#include "kernels/graph/graph.h"
#include "kernels/runtime/plan.h"

namespace regatta {

class ProcessLoops {
 public:
  /// The arguments outlive this.
  ProcessLoops(const Step& part, const Plan& plan) : part_(part), plan_(plan) {}

  int count() const { return plan_.loop_count(); }
  int count_of_all() const { return told() ? part_.partition.loops : count(); }
  int number(int loop) const { return told() ? told_of(loop).number : loop; }
  /// The models that the whole graph trains, and the one that a loop trains (graph/loops.h).
  int models() const { return told() ? part_.partition.models : 1; }
  int model(int loop) const { return told() ? told_of(loop).model : 0; }
  bool leads(int loop) const {
    return advances_alike() || told_of(loop).processes.front() == part_.partition.process;
  }
  /// Whether no other process needs the loop's tickets.
  bool is_alone(int loop) const { return advances_alike() || told_of(loop).processes.size() == 1; }
  /// Examples of one step in all processes. Throws: aborts when the loop has no input.
  std::int64_t examples(int loop) const;
  /// Sum of the examples of one step of every loop of a model that this process leads; the same
  /// over every loop of the graph.
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
