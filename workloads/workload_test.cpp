// SPDX-License-Identifier: Apache-2.0
#include "workloads/workload.h"

#include <gtest/gtest.h>

#include <string>

#include "kernels/graph/error.h"

namespace regatta {
namespace {

TEST(Workloads, KnowTheSizesOfDataSetsThatTheyCanMake) {
  for (const std::string name : {"curve", "shapes"}) {
    const std::string user = name == "curve" ? "parabola" : "resnet9_thin";
    const DataSets data = load_data(find_workload(user), name, {});
    const auto sizes = data_set_sizes(name);
    ASSERT_TRUE(sizes.has_value());
    EXPECT_EQ(sizes->train, data.train.count);
    EXPECT_EQ(sizes->test, data.test.count);
  }
  for (const Workload& workload : all_workloads()) {
    for (const std::string_view name : workload.data_sets) {
      EXPECT_TRUE(data_set_sizes(name).has_value()) << name;
    }
  }
  EXPECT_FALSE(data_set_sizes("imagenet").has_value());
}

Recipe recipe_in_groups(std::int64_t examples) {
  return {.global_batch = 64,
          .train_examples = 640,
          .total_examples = 640,
          .normalization_group = examples};
}

TEST(Workloads, NormaliseOverTheGroupsOfTheRecipe) {
  for (const std::string name : {"resnet9_thin", "resnet9", "mobilenet_v2", "airbench94"}) {
    const Step step = find_workload(name).training(recipe_in_groups(16));
    EXPECT_EQ(step.normalization_group, 16) << name;
    int normalizations = 0;
    for (const Node& node : step.graph.nodes()) {
      if (node.op != Op::Normalize) continue;
      EXPECT_EQ(node.attributes.integer("group"), 16) << name;
      ++normalizations;
    }
    EXPECT_GT(normalizations, 0) << name;
  }
}

TEST(Workloads, RefuseGroupsThatABatchHasNoWholeNumberOf) {
  try {
    (void)find_workload("resnet9").training(recipe_in_groups(24));
    FAIL() << "64 examples in groups of 24";
  } catch (const RunError& error) {
    EXPECT_STREQ(error.what(),
                 "--global-batch is 64; this workload normalises over groups of 24 examples "
                 "(--normalization-group), so it is a multiple of 24");
  }
}

TEST(Workloads, RefuseGroupsWhereNothingIsNormalised) {
  EXPECT_THROW((void)find_workload("parabola").training(recipe_in_groups(2)), RunError);
}

}  // namespace
}  // namespace regatta
