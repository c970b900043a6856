// SPDX-License-Identifier: Apache-2.0
//
// The loops (loops.h) of a whole graph, and the processes, examples and model of each loop.
#pragma once

#include <map>
#include <vector>

#include "kernels/distribute/partition.h"
#include "kernels/graph/graph.h"

namespace regatta {

class LoopMap {
 public:
  LoopMap(const Step& step, const Binding& binding);

  int of(NodeId id) const { return of_node_[static_cast<std::size_t>(id)]; }
  const std::vector<int>& of_nodes() const { return of_node_; }
  int count() const { return static_cast<int>(loops_.size()); }
  int models() const;
  const LoopPart& loop(int number) const { return loops_.at(number); }

 private:
  std::vector<int> of_node_;
  std::vector<int> models_;  ///< `models_[l]` is the model that loop l trains
  std::map<int, LoopPart> loops_;
};

}  // namespace regatta
