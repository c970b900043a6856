// SPDX-License-Identifier: Apache-2.0
//
// Cross entropy over divided classes: each op against the reference, and all together against the
// softmax over all classes, for every device that has kernels (test_support.h).
#include <limits>

#include "kernels/cpu/test_support.h"
#include "kernels/graph/collective.h"

namespace regatta::cpu::test {
namespace {

struct Shape {
  std::int64_t labels, classes, shards;
};
// A class for each shard, uneven shares, and enough for two threads.
constexpr Shape kShapes[] = {{1, 1, 1}, {3, 5, 5}, {40, 65, 2}, {7, 100, 3}, {150, 600, 4}};
constexpr Bound kBound{.absolute = 1e-6, .relative = 2e-6};

Array logits_of(const Shape& s) {
  Array logits = random_array({s.labels, s.classes}, 1);
  for (std::int64_t i = 0; i < logits.type.elements(); ++i) logits.f32()[i] *= 16;
  return logits;
}

Array labels_of(const Shape& s) { return random_labels(s.labels, static_cast<int>(s.classes), 2); }

Array columns_of(const Array& all, const Range& range) {
  Array some = random_array({all.type.dim(0), range.size()}, 1);
  for (std::int64_t i = 0; i < some.type.elements(); ++i) {
    some.f32()[i] = all.at(i / range.size() * all.type.dim(1) + range.begin + i % range.size());
  }
  return some;
}

OpCase part_of(const Shape& s, std::int64_t shard) {
  const Range mine = share(s.classes, s.shards, shard);
  return {Op::SoftmaxPart,
          {{"offset", mine.begin}},
          {columns_of(logits_of(s), mine), labels_of(s)},
          {},
          "softmax_part"};
}

/// The parts of all shards, the last first.
Array parts_of(const Shape& s) {
  Array all = random_array({s.shards * 3 * s.labels}, 1);
  for (std::int64_t shard = 0; shard < s.shards; ++shard) {
    const OpResult part = run_op(reference_table(), part_of(s, shard), 1);
    for (std::int64_t i = 0; i < 3 * s.labels; ++i) {
      all.f32()[(s.shards - 1 - shard) * 3 * s.labels + i] =
          static_cast<float>(part.outputs[0].at(i));
    }
  }
  return all;
}

OpCase loss_of(const Shape& s) {
  return {Op::CrossEntropyOfParts,
          {{"parts", s.shards}, {"divisor", std::int64_t{7}}},
          {parts_of(s)},
          {},
          "cross_entropy_of_parts"};
}

OpCase gradient_of(const Shape& s, std::int64_t shard) {
  OpCase op_case = part_of(s, shard);
  op_case.op = Op::SoftmaxPartBackward;
  op_case.attributes.set("divisor", std::int64_t{7});
  const OpResult joined = run_op(reference_table(), loss_of(s), 1);
  Array log_sums = random_array({s.labels}, 1);
  for (std::int64_t t = 0; t < s.labels; ++t) {
    log_sums.f32()[t] = static_cast<float>(joined.outputs[1].at(t));
  }
  op_case.inputs.push_back(log_sums);
  return op_case;
}

TEST(SoftmaxPart, AgreesWithTheReferenceForwardAndBackward) {
  for (const Shape& s : kShapes) {
    for (std::int64_t shard = 0; shard < s.shards; ++shard) {
      expect_agrees(part_of(s, shard), kBound);
      expect_agrees_in_bf16(part_of(s, shard), 1, kBound);
      expect_agrees(gradient_of(s, shard), kBound);
      expect_agrees_in_bf16(gradient_of(s, shard), 1, kBound);
    }
    expect_agrees(loss_of(s), kBound);
  }
}

/// The loss and the gradients of all shards are those of the whole softmax.
TEST(SoftmaxPart, TogetherGiveTheWholeSoftmax) {
  for (const Shape& s : kShapes) {
    Attributes attributes{{"label_smoothing", 0.0}, {"divisor", std::int64_t{7}}};
    const OpResult whole = run_op(reference_table(),
                                  {Op::SoftmaxCrossEntropy,
                                   attributes,
                                   {logits_of(s), labels_of(s)},
                                   {},
                                   "softmax_cross_entropy"},
                                  1);
    const Array labels = labels_of(s);
    for (const Subject& subject : subjects()) {
      EXPECT_NEAR(subject.run(loss_of(s), 1).outputs[0].at(0), whole.outputs[0].at(0),
                  2e-6 * (1 + std::abs(whole.outputs[0].at(0))))
          << subject.name;
      for (std::int64_t shard = 0; shard < s.shards; ++shard) {
        const Range mine = share(s.classes, s.shards, shard);
        const OpResult gradient = subject.run(gradient_of(s, shard), 1);
        for (std::int64_t i = 0; i < s.labels * mine.size(); ++i) {
          const std::int64_t t = i / mine.size(), k = mine.begin + i % mine.size();
          const double expected =
              (whole.outputs[1].at(t * s.classes + k) - (labels.at(t) == k ? 1 : 0)) / 7;
          ASSERT_NEAR(gradient.outputs[0].at(i), expected, 1e-5) << subject.name << " at " << i;
        }
      }
    }
  }
}

TEST(CrossEntropyOfParts, IsNaNWhereALogitIs) {
  OpCase op_case = part_of({4, 10, 2}, 0);
  op_case.inputs[0].f32()[7] = std::numeric_limits<float>::quiet_NaN();
  for (const Subject& subject : subjects()) {
    const OpResult part = subject.run(op_case, 1);
    OpCase joined = loss_of({4, 10, 2});
    for (std::int64_t i = 0; i < 12; ++i) {
      joined.inputs[0].f32()[i] = static_cast<float>(part.outputs[0].at(i));
    }
    EXPECT_TRUE(std::isnan(subject.run(joined, 1).outputs[0].at(0))) << subject.name;
  }
}

}  // namespace
}  // namespace regatta::cpu::test
