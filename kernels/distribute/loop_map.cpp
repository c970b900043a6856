// SPDX-License-Identifier: Apache-2.0
#include "kernels/distribute/loop_map.h"

#include <algorithm>

#include "kernels/distribute/loops.h"

namespace regatta {

LoopMap::LoopMap(const Step& step, const Binding& binding)
    : of_node_(loops(step.graph)), models_(regatta::models(step.graph)) {
  for (std::size_t id = 0; id < step.graph.nodes().size(); ++id) {
    const Node& node = step.graph.nodes()[id];
    LoopPart& loop = loops_[of_node_[id]];
    loop.number = of_node_[id];
    loop.model = models_[static_cast<std::size_t>(loop.number)];
    if (node.op == Op::Input) {
      loop.examples += node.attributes.integer("batch") * step.alike.replicas;
    }
    const int process = binding.process_of(node.place);
    const auto at = std::lower_bound(loop.processes.begin(), loop.processes.end(), process);
    if (at == loop.processes.end() || *at != process) loop.processes.insert(at, process);
  }
}

int LoopMap::models() const { return 1 + *std::max_element(models_.begin(), models_.end()); }

}  // namespace regatta
