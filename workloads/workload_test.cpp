// SPDX-License-Identifier: Apache-2.0
#include "workloads/workload.h"

#include <gtest/gtest.h>

namespace regatta {
namespace {

TEST(Workloads, KnowTheSizesOfDataSetsThatTheyCanMake) {
  for (const std::string name : {"curve", "shapes"}) {
    const Workload& workload = find_workload(name == "curve" ? "parabola" : "resnet9_thin");
    const DataSets data = load_data(workload, name, "");
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

}  // namespace
}  // namespace regatta
