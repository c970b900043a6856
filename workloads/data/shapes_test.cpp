// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/shapes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "kernels/base/error_for_test.h"
#include "kernels/base/random.h"

namespace regatta::workloads {
namespace {

using regatta::testing_support::error_of;

std::uint64_t checksum(const DataSet& data) {
  return fnv1a(data.inputs.bytes().data(), data.inputs.bytes().size());
}

std::string picture(const DataSet& data, std::size_t index) {
  const auto* bytes = reinterpret_cast<const char*>(data.inputs.bytes().data());
  return {bytes + index * 3072, 3072};
}

TEST(Shapes, FillAnImageDataSet) {
  const DataSet data = make_shapes(1, Split::Train, 200);
  EXPECT_EQ(data.name, "shapes");
  EXPECT_EQ(data.count, 200);
  EXPECT_EQ(data.inputs.dims, (std::vector<std::int64_t>{32, 32, 3}));
  EXPECT_EQ(data.inputs.bytes().size(), 200U * 3072);
  const auto& labels = data.targets.as<std::int32_t>();
  ASSERT_EQ(labels.size(), 200U);
  for (int label = 0; label < 10; ++label) {
    EXPECT_EQ(std::ranges::count(labels, label), 20);
  }
}

TEST(Shapes, AreTheSameBitsOnEveryMachine) {
  EXPECT_EQ(checksum(make_shapes(1, Split::Train, 100)), 5650638968506180360U);
  EXPECT_EQ(checksum(make_shapes(1, Split::Test, 100)), 5049168492070884675U);
}

TEST(Shapes, PictureDoesNotDependOnHowManyAreMade) {
  const DataSet few = make_shapes(7, Split::Train, 10);
  const DataSet many = make_shapes(7, Split::Train, 50);
  EXPECT_TRUE(std::ranges::equal(few.inputs.bytes(), many.inputs.bytes().first(10 * 3072)));
}

TEST(Shapes, SeedsAndSplitsShareNoPicture) {
  std::set<std::string> pictures;
  for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1} << 32}) {
    for (const Split split : {Split::Train, Split::Test}) {
      const DataSet data = make_shapes(seed, split, 100);
      for (std::size_t i = 0; i < 100; ++i) pictures.insert(picture(data, i));
    }
  }
  EXPECT_EQ(pictures.size(), 600U);
}

TEST(Shapes, RefuseACountThatIsNotPositive) {
  const std::string error = error_of([&] { make_shapes(1, Split::Train, 0); }, ErrorKind::Usage);
}

}  // namespace
}  // namespace regatta::workloads
