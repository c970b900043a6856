// SPDX-License-Identifier: Apache-2.0
//
// top_k and scatter_add agree with the reference bit for bit, also for magnitudes that are equal,
// infinite or NaN; together with the rest they restore the original values.
#include <bit>
#include <limits>

#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

OpCase top_k(const Array& x, std::int64_t count) {
  return {Op::TopK, {{"count", count}}, {x}, {}, "top_k"};
}

std::vector<std::uint32_t> bits_of(const Array& array) {
  std::vector<std::uint32_t> bits;
  for (std::int64_t i = 0; i < array.type.elements(); ++i) {
    bits.push_back(std::bit_cast<std::uint32_t>(array.f32()[i]));
  }
  return bits;
}

void expect_same_bits(const OpCase& op_case) {
  const OpResult expected = run_op(reference_table(), op_case, 1);
  for (const Subject& subject : subjects()) {
    const OpResult found = subject.run(op_case, 1);
    ASSERT_EQ(found.outputs.size(), expected.outputs.size());
    for (std::size_t i = 0; i < found.outputs.size(); ++i) {
      EXPECT_EQ(bits_of(found.outputs[i]), bits_of(expected.outputs[i])) << i << subject.name;
    }
  }
}

TEST(Selection, AgreesWithTheReference) {
  for (const Dims& dims : {Dims{1}, Dims{7}, Dims{64, 3}, Dims{1003}, Dims{40, 3, 3, 16}}) {
    const Array x = random_array(dims, 1);
    const std::int64_t all = x.type.elements();
    for (const std::int64_t count : {std::int64_t{1}, (all + 1) / 2, (all + 99) / 100, all}) {
      expect_same_bits(top_k(x, count));
    }
  }
}

/// Selects few of many elements, where a sample guides the search. The sample sees only every third
/// element: in `misleading` the others are larger, in `equal` all have one magnitude.
TEST(Selection, AgreesWithTheReferenceWhateverASampleSays) {
  constexpr std::int64_t kMany = 16'384;
  Array misleading = random_array({kMany}, 6), equal = random_array({kMany}, 7);
  Array hidden = random_array({kMany}, 8);
  for (std::int64_t i = 0; i < kMany; ++i) {
    misleading.f32()[i] *= i % 3 == 0 ? 1e-3F : 1.0F;
    hidden.f32()[i] *= i % 3 == 0 ? 1.0F : 1e-3F;
    equal.f32()[i] = i % 2 == 0 ? 0.5F : -0.5F;
  }
  for (const Array& x : {random_array({kMany + 5}, 5), misleading, hidden, equal}) {
    for (const std::int64_t count : {1, 164, 1638, 4096, 5461, 16'000}) {
      expect_same_bits(top_k(x, count));
    }
  }
}

/// Enough elements for a GPU to use all of its multiprocessors.
TEST(Selection, AgreesWithTheReferenceForMany) {
  expect_same_bits(top_k(random_array({600'001}, 9), 6'000));
}

TEST(Selection, TakesTheFirstOfEqualMagnitudes) {
  Array x = random_array({300}, 2);
  for (std::int64_t i = 0; i < 300; ++i) x.f32()[i] = i % 3 == 0 ? -0.5F : 0.25F * float(i % 2);
  for (const std::int64_t count : {1, 99, 100, 101, 150, 299}) expect_same_bits(top_k(x, count));
  const OpCase one = top_k(x, 2);
  for (const Subject& subject : subjects()) {
    const Array selected = subject.run(one, 1).outputs[0];
    EXPECT_EQ(bits_of(selected)[2], 0U) << subject.name;
    EXPECT_EQ(bits_of(selected)[3], 3U) << subject.name;
  }
}

TEST(Selection, TakesFirstWhatIsNoNumber) {
  Array x = random_array({200}, 3);
  x.f32()[150] = std::numeric_limits<float>::quiet_NaN();
  x.f32()[20] = -std::numeric_limits<float>::infinity();
  x.f32()[30] = std::numeric_limits<float>::denorm_min();
  for (const std::int64_t count : {1, 2, 3, 199, 200}) expect_same_bits(top_k(x, count));
  for (const Subject& subject : subjects()) {
    EXPECT_EQ(bits_of(subject.run(top_k(x, 1), 1).outputs[0])[1], 150U) << subject.name;
  }
}

TEST(Selection, IsAddedUpPartByPart) {
  const Dims dims{9, 11};
  constexpr std::int64_t kCount = 40, kParts = 3;
  Array gathered = random_array({kParts * 2 * kCount}, 4);
  std::vector<float> sums(99);
  for (std::int64_t part = 0; part < kParts; ++part) {
    const Array x = random_array(dims, 5 + static_cast<int>(part));
    const OpResult found = run_op(reference_table(), top_k(x, kCount), 1);
    std::memcpy(gathered.f32() + part * 2 * kCount, found.outputs[0].f32(), 8 * kCount);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      sums[i] += x.f32()[at] - found.outputs[1].f32()[at];
    }
  }
  const OpCase add{Op::ScatterAdd, {{"count", kCount}, {"dims", dims}}, {gathered}, {}, "add"};
  expect_same_bits(add);
  for (const Subject& subject : subjects()) {
    const Array y = subject.run(add, 1).outputs[0];
    EXPECT_EQ(std::vector<float>(y.f32(), y.f32() + 99), sums) << subject.name;
  }
}

}  // namespace
}  // namespace regatta::cpu::test
