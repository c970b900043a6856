// SPDX-License-Identifier: Apache-2.0
//
// The input op: every example once an epoch, the same bits however the batch is divided, and
// augmentation compared with a naive implementation.
#include <algorithm>
#include <numeric>

#include "kernels/base/error_for_test.h"
#include "kernels/cpu/input_for_test.h"

namespace regatta::cpu::test {
namespace {

TEST(Input, YieldsEveryExampleOnceAnEpochInAnotherOrderEachEpoch) {
  const DataSet data = images(24);
  InputOp input(&data, {.batch = 6, .offset = 0, .global_batch = 6}, everything());
  std::vector<std::vector<std::int32_t>> epochs(2);
  for (std::int64_t step = 0; step < 8; ++step) {
    input.fill(step);
    const std::vector<std::int32_t> labels = input.labels();
    auto& epoch = epochs[static_cast<std::size_t>(step / 4)];
    epoch.insert(epoch.end(), labels.begin(), labels.end());
  }
  EXPECT_NE(epochs[0], epochs[1]);
  for (std::vector<std::int32_t>& epoch : epochs) {
    EXPECT_FALSE(std::is_sorted(epoch.begin(), epoch.end()));
    std::sort(epoch.begin(), epoch.end());
    EXPECT_EQ(epoch, data.targets.as<std::int32_t>());
  }
}

TEST(Input, LeavesAnIncompleteLastBatchOut) {
  const DataSet data = images(20);
  InputOp input(&data, {.batch = 6, .offset = 0, .global_batch = 6}, plain());
  const std::vector<std::int32_t> second = example_order(kSeed, 1, 20);
  input.fill(3);  // epochs have three steps: the first of epoch 1
  EXPECT_EQ(input.labels(), std::vector<std::int32_t>(second.begin(), second.begin() + 6));
}

TEST(Input, GivesReplicasSlicesThatMakeUpTheGlobalBatchBitByBit) {
  const DataSet data = images(24);
  InputOp whole(&data, {.batch = 7, .offset = 0, .global_batch = 7}, everything());
  InputOp first(&data, {.batch = 4, .offset = 0, .global_batch = 7}, everything());
  InputOp second(&data, {.batch = 3, .offset = 4, .global_batch = 7}, everything());
  for (std::int64_t step = 0; step < 7; ++step) {
    for (InputOp* input : {&whole, &first, &second}) input->fill(step);
    for (std::size_t output : {0, 1}) {
      const std::byte* all = whole.outputs()[output].bytes.get();
      const auto bytes = static_cast<std::size_t>(first.outputs()[output].type.bytes());
      EXPECT_EQ(std::memcmp(first.outputs()[output].bytes.get(), all, bytes), 0);
      EXPECT_EQ(std::memcmp(second.outputs()[output].bytes.get(), all + bytes,
                            static_cast<std::size_t>(second.outputs()[output].type.bytes())),
                0);
    }
  }
}

/// The same pipeline on whole images: border, crop, mirror, normalise, cut out.
std::vector<float> naive(const DataSet& data, std::int64_t example, const Augmentation& a,
                         const AugmentationDraw& draw) {
  const std::int64_t padded = kSide + 2 * a.pad;
  const auto pixel = [&](std::int64_t y, std::int64_t x, std::int64_t c) {
    return data.inputs.as<std::uint8_t>()[static_cast<std::size_t>(
        ((example * kSide + y) * kSide + x) * kChannels + c)];
  };
  const auto mirrored = [](std::int64_t i) {
    if (i < 0) i = -i;
    if (i > kSide - 1) i = (kSide - 1) - (i - (kSide - 1));
    return i;
  };
  std::vector<std::uint8_t> border(static_cast<std::size_t>(padded * padded * kChannels));
  const auto at = [&](std::int64_t y, std::int64_t x, std::int64_t c) {
    return static_cast<std::size_t>((y * padded + x) * kChannels + c);
  };
  for (std::int64_t y = 0; y < padded; ++y) {
    for (std::int64_t x = 0; x < padded; ++x) {
      for (std::int64_t c = 0; c < kChannels; ++c) {
        const std::int64_t row = y - a.pad, column = x - a.pad;
        const bool outside = row < 0 || row >= kSide || column < 0 || column >= kSide;
        const bool black = outside && a.border == Augmentation::Border::Black;
        border[at(y, x, c)] = black ? std::uint8_t{0} : pixel(mirrored(row), mirrored(column), c);
      }
    }
  }
  std::vector<float> result;
  for (std::int64_t y = 0; y < kSide; ++y) {
    for (std::int64_t x = 0; x < kSide; ++x) {
      for (std::int64_t c = 0; c < kChannels; ++c) {
        const std::int64_t column = draw.flip ? kSide - 1 - x : x;
        const auto channel = static_cast<std::size_t>(c);
        const float value = border[at(y + draw.shift_y, column + draw.shift_x, c)];
        const bool cut = y >= draw.cutout_y && y < draw.cutout_y + a.cutout && x >= draw.cutout_x &&
                         x < draw.cutout_x + a.cutout;
        result.push_back(cut ? 0.0F
                             : (value - static_cast<float>(a.mean[channel])) /
                                   static_cast<float>(a.deviation[channel]));
      }
    }
  }
  return result;
}

void expect_images_like_naive(const DataSet& data, const Augmentation& a) {
  InputOp input(&data, {.batch = 8, .offset = 0, .global_batch = 8}, a);
  const AugmentationRanges ranges{
      .side = kSide, .pad = a.pad, .cutout = a.cutout, .flip = static_cast<int>(a.flip)};
  for (std::int64_t step = 0; step < 6; ++step) {
    input.fill(step);
    const std::vector<std::int32_t> labels = input.labels();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::int64_t epoch = step / (data.count / 8);
      const std::vector<float> expected =
          naive(data, labels[i], a, draw_augmentation(kSeed, epoch, labels[i], ranges));
      const float* actual = input.outputs()[0].f32() + i * expected.size();
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), actual)) << step << " " << i;
    }
  }
}

TEST(Input, AugmentsLikeANaiveImplementation) {
  const DataSet data = images(24);
  expect_images_like_naive(data, everything());
  Augmentation crop = plain();
  crop.pad = 4;
  expect_images_like_naive(data, crop);
  crop.border = Augmentation::Border::Black;
  expect_images_like_naive(data, crop);
  Augmentation cut = plain();
  cut.cutout = 5;
  expect_images_like_naive(data, cut);
  Augmentation flip = plain();
  flip.flip = Augmentation::Flip::Alternating;
  expect_images_like_naive(data, flip);
}

TEST(Input, OnlyNormalisesWithoutAugmentation) {
  const DataSet data = images(24);
  InputOp input(&data, {.batch = 8, .offset = 0, .global_batch = 8}, plain());
  input.fill(4);
  const std::int32_t label = input.labels()[0];
  for (std::int64_t i = 0; i < kSide * kSide * kChannels; ++i) {
    const auto channel = static_cast<std::size_t>(i % kChannels);
    const auto byte = static_cast<double>(
        data.inputs
            .as<std::uint8_t>()[static_cast<std::size_t>(label * kSide * kSide * kChannels + i)]);
    ASSERT_NEAR(input.outputs()[0].f32()[i],
                (byte - plain().mean[channel]) / plain().deviation[channel], 1e-6);
  }
}

TEST(Input, MirrorsEveryImageInOddEpochsWhereFlipsAlternate) {
  const DataSet data = images(8);
  Augmentation alternating = plain();
  alternating.flip = Augmentation::Flip::Alternating;
  InputOp input(&data, {.batch = 8, .offset = 0, .global_batch = 8}, alternating);
  std::vector<std::vector<float>> by_label[2];
  for (std::int64_t epoch : {0, 1}) {
    auto& seen = by_label[epoch];
    seen.resize(8);
    input.fill(epoch);
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t size = kSide * kSide * kChannels;
      const float* first = input.outputs()[0].f32() + i * size;
      seen[static_cast<std::size_t>(input.labels()[i])] = {first, first + size};
    }
  }
  for (std::size_t label = 0; label < 8; ++label) {
    for (std::int64_t y = 0; y < kSide; ++y) {
      for (std::int64_t x = 0; x < kSide; ++x) {
        const auto here = static_cast<std::size_t>((y * kSide + x) * kChannels);
        const auto there = static_cast<std::size_t>((y * kSide + kSide - 1 - x) * kChannels);
        ASSERT_EQ(by_label[0][label][here], by_label[1][label][there]);
      }
    }
  }
}

TEST(Input, PrefetchesWhatIsPreparedDirectly) {
  const DataSet data = images(24);
  const InputSlice slice{.batch = 4, .offset = 2, .global_batch = 6};
  InputOp prefetched(&data, slice, everything()), direct(&data, slice, everything());
  const auto kernel = prefetched.build();
  // Consecutive steps, and jumps that an executor never makes.
  for (std::int64_t step : {0, 1, 2, 3, 4, 5, 6, 7, 8, 3, 4, 100, 101, 0}) {
    kernel->run({.step = step});
    direct.fill(step);
    expect_same_bits(prefetched.outputs(), direct.outputs(), "step " + std::to_string(step));
  }
}

/// The digest that a kernel counts over `steps`, run in this order.
std::uint64_t order_of(const InputOp& input, const std::vector<std::int64_t>& steps) {
  LaneCounters counters;
  const auto kernel = input.build();
  for (const std::int64_t step : steps) kernel->run({.step = step, .counters = &counters});
  return counters.data_order;
}

TEST(Input, DigestsWhatItYields) {
  const DataSet pictures = images(24), points = features(24);
  const std::vector<std::int64_t> steps{0, 1, 2, 3, 4, 9};
  const auto order_of_images = [&](const InputSlice& slice, const Augmentation& augmentation) {
    return order_of(InputOp(&pictures, slice, augmentation), steps);
  };
  const auto order_of_points = [&](const InputSlice& slice) {
    return order_of(InputOp(&points, slice), steps);
  };
  const InputSlice whole{.batch = 7, .offset = 0, .global_batch = 7};
  const InputSlice first{.batch = 4, .offset = 0, .global_batch = 7};
  const InputSlice second{.batch = 3, .offset = 4, .global_batch = 7};
  const InputSlice wrong{.batch = 3, .offset = 3, .global_batch = 7};
  const std::uint64_t of_images = order_of_images(whole, everything());
  EXPECT_EQ(order_of_images(first, everything()) + order_of_images(second, everything()),
            of_images);
  EXPECT_NE(order_of_images(first, everything()) + order_of_images(wrong, everything()), of_images);
  EXPECT_NE(order_of_images(whole, plain()), of_images);
  EXPECT_EQ(order_of_points(first) + order_of_points(second), order_of_points(whole));
  EXPECT_NE(order_of_points(first) + order_of_points(wrong), order_of_points(whole));
  // A full batch is written once and counted in each step.
  const InputSlice all{.batch = 24, .offset = 0, .global_batch = 24};
  const InputSlice half{.batch = 12, .offset = 0, .global_batch = 24};
  const InputSlice other_half{.batch = 12, .offset = 12, .global_batch = 24};
  EXPECT_EQ(order_of_points(half) + order_of_points(other_half), order_of_points(all));
  EXPECT_NE(order_of(InputOp(&points, all), {0, 1}), order_of(InputOp(&points, all), {0, 0}));
}

TEST(Input, YieldsShuffledFeaturesWithTheirTargets) {
  const DataSet data = features(10);
  InputOp input(&data, {.batch = 3, .offset = 1, .global_batch = 5});
  const auto kernel = input.build();
  for (std::int64_t step = 0; step < 4; ++step) {
    kernel->run({.step = step});
    const std::vector<std::int32_t> order = example_order(kSeed, step / 2, 10);
    for (std::int64_t i = 0; i < 3; ++i) {
      const auto example =
          static_cast<float>(order[static_cast<std::size_t>(step % 2 * 5 + 1 + i)]);
      EXPECT_EQ(input.outputs()[0].f32()[2 * i], example);
      EXPECT_EQ(input.outputs()[0].f32()[2 * i + 1], example + 0.5F);
      EXPECT_EQ(input.outputs()[1].f32()[i], -example);
    }
  }
}

TEST(Input, YieldsShuffledTokensWithThoseThatFollow) {
  const DataSet data = tokens(10);
  InputOp input = InputOp::of_tokens(&data, {.batch = 3, .offset = 1, .global_batch = 5});
  const auto kernel = input.build();
  for (std::int64_t step = 0; step < 4; ++step) {
    kernel->run({.step = step});
    const std::vector<std::int32_t> order = example_order(kSeed, step / 2, 10);
    const auto* inputs = input.outputs()[0].tensor().as<std::int32_t>();
    for (std::size_t i = 0; i < 9; ++i) {
      const std::int32_t example = order[static_cast<std::size_t>(step % 2 * 5 + 1) + i / 3];
      EXPECT_EQ(inputs[i], example + static_cast<std::int32_t>(i % 3));
      EXPECT_EQ(input.labels()[i], inputs[i] + 1);
    }
  }
}

TEST(Input, FillsAFullBatchOnceInTheOrderOfTheFirstEpoch) {
  const DataSet data = features(10);
  InputOp input(&data, {.batch = 4, .offset = 6, .global_batch = 10});
  const auto kernel = input.build();
  const auto order = example_order(kSeed, 0, 10);
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(input.outputs()[1].f32()[i],
              -static_cast<float>(order[static_cast<std::size_t>(6 + i)]));
  }
  input.outputs()[1].f32()[0] = 99;
  kernel->run({.step = 5});
  EXPECT_EQ(input.outputs()[1].f32()[0], 99) << "a constant batch is not written again";
}

TEST(Input, YieldsTheDataSetInOrderAndUnaugmentedForEvaluation) {
  const DataSet data = images(20);
  const InputSlice slice{
      .batch = 6, .offset = 0, .global_batch = 6, .order = ExampleOrder::Sequential};
  InputOp input(&data, slice, everything());
  const auto kernel = input.build();
  for (std::int64_t step = 0; step < 7; ++step) {
    kernel->run({.step = step});
    std::vector<std::int32_t> expected(6);
    std::iota(expected.begin(), expected.end(), static_cast<std::int32_t>(step % 3 * 6));
    EXPECT_EQ(input.labels(), expected);
    const std::vector<float> image = naive(data, expected[0], plain(), {});
    EXPECT_TRUE(std::equal(image.begin(), image.end(), input.outputs()[0].f32()));
  }
}

/// Whether the input's kernel cannot be built, for an error of this kind.
bool is_rejected(const InputOp& input, ErrorKind kind) {
  return !testing_support::error_of([&] { input.build(); }, kind).empty();
}

TEST(Input, RejectsDataThatTheModelDoesNotTake) {
  const DataSet pictures = images(8), points = features(8);
  const InputSlice slice{.batch = 4, .offset = 0, .global_batch = 4};
  EXPECT_TRUE(is_rejected(InputOp(nullptr, slice), ErrorKind::Data));
  EXPECT_TRUE(is_rejected(InputOp(&pictures, slice), ErrorKind::Data));
  EXPECT_TRUE(is_rejected(InputOp(&points, slice, plain()), ErrorKind::Data));
  EXPECT_TRUE(is_rejected(InputOp::of_tokens(&points, slice), ErrorKind::Data));
  DataSet damaged = pictures;
  damaged.targets.as<std::int32_t>().pop_back();
  EXPECT_TRUE(is_rejected(InputOp(&damaged, slice, plain()), ErrorKind::Data));
  Augmentation no_mean;
  EXPECT_TRUE(is_rejected(InputOp(&pictures, slice, no_mean), ErrorKind::Data));
  const InputSlice large{.batch = 9, .offset = 0, .global_batch = 9};
  EXPECT_TRUE(is_rejected(InputOp(&pictures, large, plain()), ErrorKind::Usage));
}

}  // namespace
}  // namespace regatta::cpu::test
