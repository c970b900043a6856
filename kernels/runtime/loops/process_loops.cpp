// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/loops/process_loops.h"

#include "kernels/graph/error.h"

namespace regatta {

std::int64_t ProcessLoops::examples(int loop) const {
  std::int64_t sum = told() ? told_of(loop).examples : 0;
  for (const LanePlan& lane : plan_.lanes()) {
    if (told() || lane.loop != loop) continue;
    for (const Instruction& instruction : lane.instructions) {
      const Node& node = part_.graph.node(instruction.node);
      if (node.op == Op::Input) sum += node.attributes.integer("batch");
    }
  }
  check(sum > 0, "every loop has an input");
  return sum;
}

std::int64_t ProcessLoops::led_examples() const {
  std::int64_t sum = 0;
  for (int loop = 0; loop < count(); ++loop) sum += leads(loop) ? examples(loop) : 0;
  return sum;
}

std::int64_t ProcessLoops::all_examples() const {
  return count() == count_of_all() ? led_examples() : part_.global_batch;
}

}  // namespace regatta
