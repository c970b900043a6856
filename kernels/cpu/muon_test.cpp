// SPDX-License-Identifier: Apache-2.0
//
// muon against the reference, and its purpose, for every device with kernels (test_support.h).
#include <algorithm>
#include <cmath>

#include "kernels/cpu/lacks_for_test.h"
#include "kernels/cpu/test_support.h"
#include "kernels/cpu/update_for_test.h"

namespace regatta::cpu::test {
namespace {

/// Several matrices; wide and tall ones; one whose elements threads divide, one whose A; weights of
/// convolutions, which are normalised.
const Dims kSizes[] = {{1, 1},    {24, 24},   {40, 7},        {3, 16, 24},
                       {9, 4096}, {190, 190}, {24, 3, 3, 16}, {40, 2, 2, 3}};

OpCase muon(const Dims& dims, ElementType element) {
  return {Op::Muon,
          with_schedule({{"momentum", 0.95},
                         {"weight_decay", 0.1},
                         {"weight", 0.5},
                         {"scale", 2.0},
                         {"normalized", std::int64_t{dims.size() == 4}},
                         {"iterations", std::int64_t{dims.size() == 4 ? 3 : 5}},
                         {"element", static_cast<std::int64_t>(element)}},
                        {0.1, 0.2}),
          {random_array(dims, 1)},
          {random_array(dims, 2), random_array(dims, 3)},
          "muon in " + std::string(to_string(element))};
}

/// `error`: relative to o, whose elements have the size of 1 / sqrt(max(O, I)).
void expect_agrees(ElementType element, double error) {
  for (const Dims& dims : kSizes) {
    const double size = 1 / std::sqrt(static_cast<double>(std::max(dims.end()[-2], dims.back())));
    const Bound bound{.absolute = error * size + 1e-6, .relative = 1e-6};
    const OpCase op_case = muon(dims, element);
    const OpResult expected = run_op(reference_table(), muon(dims, ElementType::F32), 1, 2);
    for (const Subject& subject : subjects()) {
      const OpResult actual = subject.run(op_case, 2);
      const std::string what = op_case.name + subject.name;
      expect_close(actual.variables, expected.variables, bound, what);
      expect_same_bits(actual.variables, subject.run(op_case, 2).variables, what);
    }
  }
}

/// Singular values near zero grow by 3.4445^5 = 485, and rounding errors with them.
TEST(Muon, AgreesWithTheReferenceOverSteps) { expect_agrees(ElementType::F32, 1e-5); }

TEST(Muon, AgreesWithTheReferenceInBf16) {
  if (const std::string why = why_cpu_lacks(ElementType::BF16); !why.empty()) GTEST_SKIP() << why;
  expect_agrees(ElementType::BF16, 1e-2);
}

/// The direction d = U S Vᵀ becomes o = U f(S) Vᵀ, so dᵀ o is symmetric. f(S) is 0.68 to 1.21
/// where S is 0.003 to 1, and so is the length of o v for any v of length 1.
TEST(Muon, BringsSingularValuesNearOneAndKeepsSingularVectors) {
  constexpr std::int64_t kRows = 100, kColumns = 30;
  OpCase op_case = muon({kRows, kColumns}, ElementType::F32);
  op_case.attributes.set("weight", 1.0);
  op_case.attributes.set("scale", -1.0);
  op_case.attributes.set("schedule_values", std::vector<double>{1, 1});
  op_case.variables = {Array(op_case.inputs[0].type), Array(op_case.inputs[0].type)};
  const float* const d = op_case.inputs[0].f32();
  for (const Subject& subject : subjects()) {
    const OpResult result = subject.run(op_case, 1);
    const float* const o = result.variables[0].f32();
    const auto product = [&](const float* x, std::int64_t i, std::int64_t j) {
      double sum = 0;
      for (std::int64_t row = 0; row < kRows; ++row) {
        sum += double{x[row * kColumns + i]} * double{o[row * kColumns + j]};
      }
      return sum;
    };
    double uneven = 0;  // squared length of o v, where v has the signs + - + - …
    for (std::int64_t i = 0; i < kColumns; ++i) {
      EXPECT_GT(product(o, i, i), 0.68 * 0.68) << subject.name;
      EXPECT_LT(product(o, i, i), 1.21 * 1.21) << subject.name;
      for (std::int64_t j = 0; j < kColumns; ++j) {
        EXPECT_NEAR(product(d, i, j), product(d, j, i), 1e-4) << subject.name;
        uneven += ((i + j) % 2 == 0 ? 1 : -1) * product(o, i, j) / kColumns;
      }
    }
    EXPECT_GT(uneven, 0.68 * 0.68) << subject.name;
    EXPECT_LT(uneven, 1.21 * 1.21) << subject.name;
  }
}

}  // namespace
}  // namespace regatta::cpu::test
