// SPDX-License-Identifier: Apache-2.0
//
// add, scale, quotient, assign, sum, cast, concatenate, copy, translate, for every device that has
// kernels (test_support.h).
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

const Dims kSizes[] = {{}, {5}, {3, 7, 11, 3}, {2, 40, 40, 24}};
constexpr Bound kOneRounding{.absolute = 0x1p-24, .relative = 0x1p-23};

TEST(Add, AgreesWithTheReference) {
  for (const Dims& dims : kSizes) {
    const OpCase op_case{Op::Add, {}, {random_array(dims, 1), random_array(dims, 2)}, {}, "add"};
    expect_agrees(op_case, kOneRounding);
    expect_agrees_in_bf16(op_case, 2, kOneRounding);
  }
}

TEST(Scale, AgreesWithTheReference) {
  for (const Dims& dims : kSizes) {
    const OpCase op_case{Op::Scale, {{"factor", 0.3}}, {random_array(dims, 1)}, {}, "scale"};
    expect_agrees(op_case, kOneRounding);
    expect_agrees_in_bf16(op_case, 1, kOneRounding);
  }
}

TEST(Quotient, AgreesWithTheReference) {
  for (const Dims& dims : kSizes) {
    const OpCase op_case{
        Op::Quotient, {}, {random_array(dims, 1), random_array({1}, 2)}, {}, "quotient"};
    expect_agrees(op_case, kOneRounding);
  }
}

TEST(Assign, IsTheValue) {
  for (const Dims& dims : kSizes) {
    const Array x = random_array(dims, 1);
    const OpCase op_case{Op::Assign, {}, {x}, {random_array(dims, 2)}, "assign"};
    for (const Subject& subject : subjects()) {
      expect_same_bits(subject.run(op_case, 1).variables, {x}, "assign" + subject.name);
    }
  }
}

TEST(Sum, AgreesWithTheReferenceForOneToFiveTerms) {
  for (const Dims& dims : kSizes) {
    OpCase op_case{Op::Sum, {{"factor", 1.0 / 3}}, {}, {}, "sum"};
    for (unsigned terms = 1; terms <= 5; ++terms) {
      op_case.inputs.push_back(random_array(dims, terms));
      expect_agrees(op_case, sum_of(terms));
      expect_agrees_in_bf16(op_case, terms, sum_of(terms));
    }
  }
}

TEST(Cast, RoundsLikeTheReferenceBitByBit) {
  Array x = random_array({2, 40, 40, 24}, 1);
  for (std::int64_t i = 0; i < x.type.elements(); ++i) x.f32()[i] *= 1.0F + 0x1p-9F;
  const float odd[] = {0.0F,
                       -0.0F,
                       1.00390625F,
                       1.01171875F,
                       3.4e38F,
                       1e-40F,
                       std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity()};
  std::copy(std::begin(odd), std::end(odd), x.f32());
  const auto bf16 = static_cast<std::int64_t>(ElementType::BF16);
  const auto f32 = static_cast<std::int64_t>(ElementType::F32);
  const OpCase down{Op::Cast, {{"element", bf16}}, {x}, {}, "cast down"};
  const OpResult expected = run_op(reference_table(), down, 1);
  for (const Subject& subject : subjects()) {
    expect_same_bits(subject.run(down, 1).outputs, expected.outputs, down.name + subject.name);
  }
  const OpCase up{Op::Cast, {{"element", f32}}, {expected.outputs[0]}, {}, "cast up"};
  for (const Subject& subject : subjects()) {
    expect_same_bits(subject.run(up, 1).outputs, run_op(reference_table(), up, 1).outputs,
                     up.name + subject.name);
  }
  expect_agrees({Op::Cast, {{"element", f32}}, {random_array({5}, 1)}, {}, "cast to itself"}, {});
}

TEST(Concatenate, LaysRowsOneAfterTheOther) {
  const Array a = random_array({3, 5}, 1), b = random_array({1, 5}, 2), c = random_array({4, 5}, 3);
  const OpCase join{Op::Concatenate, {}, {a, b, c}, {}, "three parts"};
  for (const Subject& subject : subjects()) {
    const OpResult result = subject.run(join, 1);
    expect_same_bits(result.outputs, run_op(reference_table(), join, 1).outputs, join.name);
    EXPECT_EQ(result.outputs[0].f32()[3 * 5 + 2], b.f32()[2]);
    EXPECT_EQ(result.outputs[0].f32()[4 * 5], c.f32()[0]);
  }
}

TEST(TakeAndPut, MoveRangesOfEachDimension) {
  using Numbers = std::vector<std::int64_t>;
  const Array a = random_array({3, 8, 5}, 1), b = random_array({3, 2, 5}, 2);
  const Array c = random_array({3, 4, 5}, 3);
  for (const std::int64_t axis : {0, 1, 2}) {
    const OpCase take{
        Op::Take, {{"axis", axis}, {"begins", Numbers{0, 2}}, {"length", 1}}, {a}, {}, "take"};
    const OpCase put{
        Op::Put, {{"axis", axis}, {"begins", Numbers{1}}, {"extent", 10}}, {a}, {}, "put"};
    for (const OpCase& each : {take, put}) {
      expect_agrees(each, {});
      OpCase halved = each;
      halved.inputs[0] = to_bf16(a);
      expect_agrees(halved, {});
    }
  }
  const OpCase parts{Op::Put,
                     {{"axis", 1}, {"begins", Numbers{0, 1, 3, 5}}, {"extent", 7}},
                     {b, c},
                     {},
                     "two ranges of each"};
  expect_agrees(parts, {});
  const Array y = run_op(reference_table(), parts, 1).outputs[0];
  EXPECT_EQ(y.f32()[(7 + 1) * 5], b.f32()[(2 + 1) * 5]);
  EXPECT_EQ(y.f32()[(7 + 6) * 5 + 4], c.f32()[(4 + 3) * 5 + 4]);
  EXPECT_EQ(y.f32()[2 * 5], 0);
}

TEST(Translate, MovesReflectsAndMirrorsLikeTheReference) {
  const Array x = random_array({3, 7, 5, 3}, 1);
  for (const auto& [rows, columns] : {std::pair{0, 0}, std::pair{2, -3}, std::pair{-6, 4}}) {
    for (const std::int64_t mirror : {0, 1}) {
      const OpCase op_case{
          Op::Translate,
          {{"rows", std::int64_t{rows}}, {"columns", std::int64_t{columns}}, {"mirror", mirror}},
          {x},
          {},
          "translate"};
      expect_agrees(op_case, {});
      expect_agrees_in_bf16(op_case, 1, {});
    }
  }
}

TEST(Cast, KeepsNaN) {
  Array x = random_array({40}, 1);
  x.f32()[3] = std::numeric_limits<float>::quiet_NaN();
  x.f32()[39] = std::bit_cast<float>(0x7F800001U);  // a NaN; rounding would clear its mantissa
  const auto bf16 = static_cast<std::int64_t>(ElementType::BF16);
  for (const Subject& subject : subjects()) {
    const OpResult result = subject.run({Op::Cast, {{"element", bf16}}, {x}, {}, "cast"}, 1);
    for (std::int64_t i : {3, 39}) EXPECT_TRUE(std::isnan(result.outputs[0].at(i))) << i;
    EXPECT_FALSE(std::isnan(result.outputs[0].at(4))) << subject.name;
  }
}

TEST(Copy, AgreesWithTheReference) {
  for (const Dims& dims : kSizes) {
    const Array x = random_array(dims, 1);
    for (const Array& copied : {x, to_bf16(x)}) {
      expect_agrees({Op::Copy, {}, {copied}, {}, "copy"}, {});
    }
  }
}

}  // namespace
}  // namespace regatta::cpu::test
