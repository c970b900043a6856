// SPDX-License-Identifier: Apache-2.0
//
// For tests that continue the run of one executor in a second executor of the same graph.
#pragma once

#include <cstring>
#include <iterator>
#include <set>
#include <vector>

#include "kernels/runtime/executor.h"

namespace regatta::testing_support {

/// Copies all variables and their versions. Neither executor may run.
inline void copy_variables(Executor& from, Executor& to) {
  const auto count = static_cast<VariableId>(from.step().graph.variables().size());
  for (VariableId v = 0; v < count; ++v) {
    const Tensor& tensor = from.variable(v).tensor;
    std::memcpy(to.variable(v).tensor.data, tensor.data,
                static_cast<std::size_t>(tensor.type.bytes()));
    if (to.variable(v).counts != nullptr) {
      to.variable(v).counts->version = from.variable(v).counts->version;
    }
  }
  to.write_variables();
}

inline Positions positions_of(const Executor& executor) {
  Positions positions{.loops = {}, .steps = 0, .examples = executor.examples_seen()};
  std::set<std::int64_t> beginnings;
  for (const LoopReport& loop : executor.loops()) {
    const bool begun = !loop.examples.empty();  // a much faster loop may have taken all examples
    positions.loops.push_back({.number = static_cast<int>(positions.loops.size()),
                               .steps = loop.steps,
                               .last_examples = begun ? loop.examples.back() : 0});
    beginnings.insert(loop.examples.begin(), loop.examples.end());
  }
  positions.steps = std::ssize(beginnings);
  return positions;
}

}  // namespace regatta::testing_support
