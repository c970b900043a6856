// SPDX-License-Identifier: Apache-2.0
//
// orthogonalize compared with the reference, and its purpose: orthogonal columns of length one.

#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

OpCase orthogonalize(const Array& x) { return {Op::Orthogonalize, {}, {x}, {}, "orthogonalize"}; }

double product(const Array& x, std::int64_t a, std::int64_t b) {
  const std::int64_t columns = x.type.dim(1);
  double sum = 0;
  for (std::int64_t row = 0; row < x.type.dim(0); ++row) {
    sum += double{x.f32()[row * columns + a]} * double{x.f32()[row * columns + b]};
  }
  return sum;
}

TEST(Orthogonalize, AgreesWithTheReference) {
  for (const Dims& dims : {Dims{1, 1}, Dims{7, 3}, Dims{64, 4}, Dims{300, 16}}) {
    expect_agrees(orthogonalize(random_array(dims, 1)), Bound{.absolute = 1e-5, .relative = 1e-5});
  }
}

TEST(Orthogonalize, GivesColumnsOfLengthOneAtRightAngles) {
  const OpCase op_case = orthogonalize(random_array({300, 8}, 2));
  for (const Subject& subject : subjects()) {
    const Array y = subject.run(op_case, 1).outputs[0];
    for (std::int64_t a = 0; a < 8; ++a) {
      for (std::int64_t b = 0; b <= a; ++b) {
        EXPECT_NEAR(product(y, a, b), a == b ? 1 : 0, 1e-5) << a << ' ' << b << subject.name;
      }
    }
  }
}

TEST(Orthogonalize, MakesZeroOfColumnsThatAddNothing) {
  Array x = random_array({20, 3}, 3);
  for (std::int64_t row = 0; row < 20; ++row) {
    float* const values = x.f32() + 3 * row;
    values[1] = 2 * values[0];
    values[2] = 0;
  }
  for (const Subject& subject : subjects()) {
    const Array y = subject.run(orthogonalize(x), 1).outputs[0];
    EXPECT_NEAR(product(y, 0, 0), 1, 1e-6);
    EXPECT_EQ(product(y, 1, 1), 0);
    EXPECT_EQ(product(y, 2, 2), 0);
  }
}

}  // namespace
}  // namespace regatta::cpu::test
