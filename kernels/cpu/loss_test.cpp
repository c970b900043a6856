// SPDX-License-Identifier: Apache-2.0
//
// The losses and count_correct, for every device that has kernels (test_support.h).
#include <limits>

#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

struct Shape {
  std::int64_t batch;
  std::int64_t classes;
};
// The last has enough elements for two threads, and two blocks of classes.
constexpr Shape kShapes[] = {{1, 1}, {1, 10}, {3, 5}, {50, 1}, {129, 10}, {7, 100}, {150, 600}};

Attributes loss_attributes(double smoothing, std::int64_t divisor) {
  return {{"label_smoothing", smoothing}, {"divisor", divisor}};
}

// exp and log err by a unit or two in the last place; sums are in double.
constexpr Bound kBound{.absolute = 1e-7, .relative = 1e-6};

TEST(SoftmaxCrossEntropy, AgreesWithTheReference) {
  for (const Shape& s : kShapes) {
    for (double smoothing : {0.0, 0.2}) {
      Array logits = random_array({s.batch, s.classes}, 1);
      for (std::int64_t i = 0; i < logits.type.elements(); ++i) logits.f32()[i] *= 20;
      const OpCase op_case{Op::SoftmaxCrossEntropy,
                           loss_attributes(smoothing, s.batch),
                           {logits, random_labels(s.batch, static_cast<int>(s.classes), 2)},
                           {},
                           "softmax_cross_entropy"};
      expect_agrees(op_case, {.absolute = 1e-6, .relative = 2e-6});
    }
  }
}

TEST(SoftmaxCrossEntropyBackward, AgreesWithTheReference) {
  for (const Shape& s : kShapes) {
    for (double smoothing : {0.0, 0.2}) {
      Attributes attributes = loss_attributes(smoothing, 3);
      attributes.set("element", static_cast<std::int64_t>(ElementType::F32));
      const OpCase op_case{Op::SoftmaxCrossEntropyBackward,
                           attributes,
                           {random_array({s.batch, s.classes}, 1),
                            random_labels(s.batch, static_cast<int>(s.classes), 2)},
                           {},
                           "softmax_cross_entropy_backward"};
      expect_agrees(op_case, kBound);
    }
  }
}

TEST(SoftmaxCrossEntropy, TakesTheLastDimensionOfAnyRank) {
  const Array logits = random_array({2, 3, 5}, 1);
  Array labels = random_labels(6, 5, 2);
  labels.type.dims = {2, 3};
  expect_agrees({Op::SoftmaxCrossEntropy, loss_attributes(0.2, 6), {logits, labels}, {}, "loss"},
                {.absolute = 1e-6, .relative = 2e-6});
  Attributes attributes = loss_attributes(0.2, 6);
  attributes.set("element", static_cast<std::int64_t>(ElementType::F32));
  expect_agrees({Op::SoftmaxCrossEntropyBackward, attributes, {logits, labels}, {}, "gradient"},
                kBound);
  expect_agrees({Op::CountCorrect, {}, {logits, labels}, {}, "count_correct"}, kBound);
}

TEST(SoftmaxCrossEntropy, TakesLogitsInBf16) {
  for (const Shape& s : kShapes) {
    Array logits = random_array({s.batch, s.classes}, 1);
    for (std::int64_t i = 0; i < logits.type.elements(); ++i) logits.f32()[i] *= 16;
    const OpCase op_case{Op::SoftmaxCrossEntropy,
                         loss_attributes(0.2, s.batch),
                         {logits, random_labels(s.batch, static_cast<int>(s.classes), 2)},
                         {},
                         "softmax_cross_entropy"};
    expect_agrees_in_bf16(op_case, 1, {.absolute = 1e-6, .relative = 2e-6});
  }
}

TEST(SoftmaxCrossEntropyBackward, RoundsOnceToBf16) {
  for (const Shape& s : kShapes) {
    OpCase op_case{Op::SoftmaxCrossEntropyBackward,
                   loss_attributes(0.2, 3),
                   {random_array({s.batch, s.classes}, 1),
                    random_labels(s.batch, static_cast<int>(s.classes), 2)},
                   {},
                   "softmax_cross_entropy_backward in bf16"};
    op_case.attributes.set("element", static_cast<std::int64_t>(ElementType::F32));
    const OpResult expected = run_op(reference_table(), op_case, 1);
    op_case.attributes.set("element", static_cast<std::int64_t>(ElementType::BF16));
    for (const Subject& subject : subjects()) {
      const OpResult actual = subject.run(op_case, 1);
      ASSERT_EQ(actual.outputs[0].type.element, ElementType::BF16) << subject.name;
      expect_close(actual.outputs, expected.outputs, rounded_to_bf16(kBound), subject.name);
    }
  }
}

TEST(SoftmaxCrossEntropy, IsNaNWhereALogitIs) {
  Array logits = random_array({4, 10}, 1);
  logits.f32()[17] = std::numeric_limits<float>::quiet_NaN();
  const OpCase op_case{
      Op::SoftmaxCrossEntropy, loss_attributes(0, 4), {logits, random_labels(4, 10, 2)}, {}, "nan"};
  for (const Subject& subject : subjects()) {
    EXPECT_TRUE(std::isnan(subject.run(op_case, 1).outputs[0].at(0))) << subject.name;
  }
}

TEST(MeanSquaredError, AgreesWithTheReferenceForwardAndBackward) {
  for (const Shape& s : kShapes) {
    const Dims dims{s.batch, s.classes};
    for (Op op : {Op::MeanSquaredError, Op::MeanSquaredErrorBackward}) {
      expect_agrees({op,
                     {{"divisor", std::int64_t{7}}},
                     {random_array(dims, 1), random_array(dims, 2)},
                     {},
                     std::string(to_string(op))},
                    kBound);
    }
  }
}

TEST(CountCorrect, AgreesWithTheReferenceOnTiesAndNaN) {
  for (const Shape& s : kShapes) {
    Array logits = random_array({s.batch, s.classes}, 1);
    // Few distinct values give many ties.
    for (std::int64_t i = 0; i < logits.type.elements(); ++i) {
      logits.f32()[i] = std::round(2 * logits.f32()[i]);
    }
    if (s.batch > 1) logits.f32()[0] = std::numeric_limits<float>::quiet_NaN();
    const OpCase op_case{Op::CountCorrect,
                         {},
                         {logits, random_labels(s.batch, static_cast<int>(s.classes), 2)},
                         {},
                         "count_correct"};
    expect_agrees(op_case, {});
    expect_agrees_in_bf16(op_case, 1, {});
  }
}

}  // namespace
}  // namespace regatta::cpu::test
