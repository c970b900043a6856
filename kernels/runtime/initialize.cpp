// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/initialize.h"

#include <algorithm>

#include "kernels/graph/error.h"
#include "kernels/graph/random.h"

namespace regatta {

void initialize(const Graph& graph, VariableId id, std::uint64_t seed, float* destination) {
  const Variable& variable = graph.variable(id);
  const Initializer& initializer = variable.initializer;
  check(variable.type.element == ElementType::F32, "variables hold f32");
  const auto count = static_cast<std::uint32_t>(variable.type.elements());
  const std::uint64_t name = fnv1a(variable.name);
  const RandomStream stream(seed, Purpose::Weights, static_cast<std::uint32_t>(name),
                            static_cast<std::uint32_t>(name >> 32));
  const auto scale = static_cast<float>(initializer.scale);
  switch (initializer.kind) {
    case Initializer::Kind::Zeros: std::fill_n(destination, count, 0.0F); return;
    case Initializer::Kind::Ones: std::fill_n(destination, count, 1.0F); return;
    case Initializer::Kind::Normal:
      for (std::uint32_t i = 0; i < count; ++i) destination[i] = scale * stream.normal(i);
      return;
    case Initializer::Kind::Uniform:
      for (std::uint32_t i = 0; i < count; ++i) {
        destination[i] = scale * (2 * stream.uniform(i) - 1);
      }
      return;
    case Initializer::Kind::CopyOf: break;
  }
  for (VariableId other = 0; other < static_cast<VariableId>(graph.variables().size()); ++other) {
    const Variable& source = graph.variable(other);
    if (source.name == initializer.source && source.type == variable.type) {
      check(source.initializer.kind != Initializer::Kind::CopyOf, "a copy starts from an original");
      initialize(graph, other, seed, destination);
      return;
    }
  }
  check(false, "a variable starts as a copy of one that is not there");
}

}  // namespace regatta
