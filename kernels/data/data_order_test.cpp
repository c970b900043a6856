// SPDX-License-Identifier: Apache-2.0
//
// The digest of consumed examples changes with the step, place, example and augmentation, and does
// not depend on how the batches are divided.
#include "kernels/data/data_order.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "kernels/data/augmentation_draw.h"

namespace regatta {
namespace {

struct Consumed {
  std::int64_t step = 0;
  std::int64_t place = 0;
  std::int64_t example = 0;
  AugmentationDraw draw;
};

std::uint64_t digest_of(const std::vector<Consumed>& all) {
  std::uint64_t sum = 0;
  for (const Consumed& each : all) {
    sum += order_weight(each.step) * order_digest(each.place, each.example, each.draw);
  }
  return sum;
}

/// Three steps of four examples, each with another draw.
std::vector<Consumed> sample() {
  std::vector<Consumed> all;
  for (std::int32_t i = 0; i < 12; ++i) {
    all.push_back({.step = i / 4,
                   .place = i % 4,
                   .example = 7 * i % 12,
                   .draw = {.shift_x = i % 3,
                            .shift_y = i % 5,
                            .flip = i % 2 == 0,
                            .cutout_x = i % 4,
                            .cutout_y = i % 6}});
  }
  return all;
}

TEST(DataOrder, DoesNotDependOnWhoAddsFirst) {
  std::vector<Consumed> all = sample();
  const std::uint64_t digest = digest_of(all);
  std::swap(all[2], all[9]);
  EXPECT_EQ(digest_of(all), digest);
  EXPECT_EQ(digest_of({all.begin(), all.begin() + 5}) + digest_of({all.begin() + 5, all.end()}),
            digest);
}

TEST(DataOrder, DependsOnStepPlaceExampleAndDraw) {
  std::set<std::uint64_t> digests{digest_of(sample())};
  const auto add = [&digests](const auto& change) {
    std::vector<Consumed> changed = sample();
    change(changed);
    EXPECT_TRUE(digests.insert(digest_of(changed)).second) << digests.size();
  };
  add([](auto& all) { std::swap(all[2].example, all[3].example); });  // within a step
  add([](auto& all) { std::swap(all[2].example, all[6].example); });  // at one place of two steps
  add([](auto& all) { std::swap(all[2].draw, all[3].draw); });
  add([](auto& all) { std::swap(all[2].draw.flip, all[3].draw.flip); });
  add([](auto& all) { std::swap(all[2].step, all[6].step); });
  add([](auto& all) { all[5].example = 0; });
  add([](auto& all) { all[5].place = 11; });
  add([](auto& all) { all[5].step = 11; });
  add([](auto& all) { ++all[5].draw.shift_x; });
  add([](auto& all) { ++all[5].draw.shift_y; });
  add([](auto& all) { ++all[5].draw.cutout_x; });
  add([](auto& all) { ++all[5].draw.cutout_y; });
  add([](auto& all) { all.pop_back(); });
  add([](auto& all) { all.push_back(all.back()); });
}

}  // namespace
}  // namespace regatta
