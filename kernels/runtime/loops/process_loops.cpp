// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/loops/process_loops.h"

#include "kernels/base/error.h"

namespace regatta {

std::int64_t ProcessLoops::examples(int loop) const {
  std::int64_t sum = is_partitioned() ? loop_part(loop).examples : 0;
  for (const LanePlan& lane : plan_.lanes()) {
    if (is_partitioned() || lane.loop != loop) continue;
    for (const Instruction& instruction : lane.instructions) {
      const Node& node = part_.graph.node(instruction.node);
      if (node.op == Op::Input) sum += node.attributes.integer("batch");
    }
  }
  check(sum > 0, "every loop has an input");
  return sum;
}

std::int64_t ProcessLoops::led_examples(int model) const {
  std::int64_t sum = 0;
  for (int loop = 0; loop < count(); ++loop) {
    if (leads(loop) && this->model(loop) == model) sum += examples(loop);
  }
  return sum;
}

std::int64_t ProcessLoops::all_examples() const {
  if (count() != count_of_all()) return part_.global_batch;
  std::int64_t sum = 0;
  for (int model = 0; model < models(); ++model) sum += led_examples(model);
  return sum;
}

}  // namespace regatta
