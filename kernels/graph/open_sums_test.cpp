// SPDX-License-Identifier: Apache-2.0
//
// Sums without an algorithm: listed in the order of their groups, then given one each.
#include "kernels/graph/open_sums.h"

#include <gtest/gtest.h>

#include "kernels/graph/builder.h"
#include "kernels/graph/error.h"

namespace regatta {
namespace {

constexpr std::int64_t kMembers = 2;

/// Sums of 3 and 5 elements, both open, and one by a ring.
Step with_open_sums() {
  Step step;
  for (int m = 0; m < kMembers; ++m) {
    Builder builder(step.graph);
    builder.at({.replica = m});
    const auto sum = [&](const char* name, std::int64_t elements, std::int64_t group,
                         std::string_view algorithm) {
      const VariableId variable = step.graph.add({.name = name,
                                                  .type = {ElementType::F32, {elements}},
                                                  .initializer = {},
                                                  .place = {.replica = m}});
      builder.all_reduce(
          builder.read(variable),
          {.group = group, .member = m, .members = kMembers, .algorithm = std::string(algorithm)});
    };
    sum("later", 5, 7, kAuto);
    sum("first", 3, 2, kAuto);
    sum("named", 4, 4, kRing);
  }
  return step;
}

TEST(OpenSums, AreThoseWithoutAnAlgorithmInTheOrderOfTheirGroups) {
  const Step step = with_open_sums();
  const std::vector<OpenSum> sums = open_sums(step.graph);
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].shape.elements, 3);
  EXPECT_EQ(sums[1].shape.elements, 5);
  EXPECT_EQ(sums[1].places, (std::vector<Place>{{.replica = 0}, {.replica = 1}}));
}

TEST(OpenSums, GetTheAlgorithmsThatArePickedAndOthersKeepTheirs) {
  const std::vector<std::string> picked = {"double_tree", "torus"};
  const Step step = with_algorithms(with_open_sums(), picked);
  EXPECT_TRUE(open_sums(step.graph).empty());
  int members = 0;
  for (const Node& node : step.graph.nodes()) {
    if (node.op != Op::AllReduce) continue;
    ++members;
    const std::int64_t elements = node.outputs[0].elements();
    EXPECT_EQ(node.attributes.text("algorithm"), elements == 3   ? "double_tree"
                                                 : elements == 5 ? "torus"
                                                                 : "ring");
  }
  EXPECT_EQ(members, 3 * kMembers);
}

TEST(OpenSums, AreRefusedAnotherNumberOfAlgorithms) {
  const std::vector<std::string> one = {"ring"};
  try {
    with_algorithms(with_open_sums(), one);
    FAIL() << "one algorithm for two sums";
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    EXPECT_EQ(std::string(error.what()),
              "algorithms are picked for 1 sums, and the step has 2 that are open");
  }
}

}  // namespace
}  // namespace regatta
