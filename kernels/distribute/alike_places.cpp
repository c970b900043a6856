// SPDX-License-Identifier: Apache-2.0
#include "kernels/distribute/alike_places.h"

namespace regatta {

std::map<Place, int> processes_of_places(const Step& step, const Binding& binding) {
  std::map<Place, int> all;
  if (step.alike.places() == 1) return all;
  for (const Node& node : step.graph.nodes()) {
    if (all.contains(node.place)) continue;
    for (int replica = 0; replica < step.alike.replicas; ++replica) {
      for (int shard = 0; shard < step.alike.shards; ++shard) {
        Place place = node.place;
        place.replica += replica;
        place.shard += shard;
        all[place] = binding.process_of(place);
      }
    }
  }
  return all;
}

}  // namespace regatta
