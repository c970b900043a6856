// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/initialize.h"

#include <gtest/gtest.h>

#include <vector>

namespace regatta {
namespace {

std::vector<float> first_values(const Variable& variable) {
  Graph graph;
  const VariableId id = graph.add(variable);
  std::vector<float> values(static_cast<std::size_t>(variable.type.elements()));
  initialize(graph, id, 42, values.data());
  return values;
}

/// The other variable may be in another process.
TEST(Initialize, StartsWithTheFirstValueOfAVariableThatTheGraphDoesNotHave) {
  Initializer normal;
  normal.kind = Initializer::Kind::Normal;
  const Variable source{.name = "w", .type = {ElementType::F32, {6, 2}}, .initializer = normal};
  const std::vector<float> expected = first_values(source);
  Variable copy = source;
  copy.name = "w.outer";
  EXPECT_NE(first_values(copy), expected);
  copy.initializer = first_value_of(source);
  EXPECT_EQ(first_values(copy), expected);

  Variable part = copy;
  part.name = "w.outer rows 4";
  part.type.dims = {2, 2};
  part.part_of = PartOf{.name = copy.name, .type = copy.type, .row = 4};
  EXPECT_EQ(first_values(part), std::vector<float>(expected.begin() + 8, expected.end()));
}

}  // namespace
}  // namespace regatta
