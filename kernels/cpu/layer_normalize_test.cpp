// SPDX-License-Identifier: Apache-2.0
//
// layer_normalize and its backward op, for every device that has kernels (test_support.h).
#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

// One element, odd widths, one register, several of them with and without a rest, many rows, and
// enough for two threads.
const Dims kShapes[] = {{1, 1},    {3, 2, 5},   {7, 16},    {5, 33},  {130, 3},
                        {9, 1000}, {3, 7, 128}, {300, 129}, {90, 768}};

// y is at most some deviations of 1 from the mean, r at most 10 by the choice of epsilon.
constexpr Bound kBound{.absolute = 1e-5, .relative = 4e-6};

OpCase forward(const Dims& dims, std::int64_t center, float offset = 0) {
  Array x = random_array(dims, 1);
  for (std::int64_t i = 0; i < x.type.elements(); ++i) x.f32()[i] += offset;
  return {Op::LayerNormalize,
          {{"center", center}, {"epsilon", 0.01}},
          {x, random_array({dims.back()}, 2)},
          {},
          "layer_normalize of " + to_string(x.type)};
}

TEST(LayerNormalize, AgreesWithTheReference) {
  for (const Dims& dims : kShapes) {
    for (const std::int64_t center : {0, 1}) {
      expect_agrees(forward(dims, center), kBound);
      expect_agrees_in_bf16(forward(dims, center), 1, kBound);
    }
  }
}

TEST(LayerNormalize, KeepsItsPrecisionFarFromZero) {
  // Near 100 the step between f32 values is 2^-17; E[x²] - E[x]² in f32 would leave no correct
  // digit of a variance of 1/3. The mean may be off by some of these steps.
  for (const Dims& dims : kShapes) {
    expect_agrees(forward(dims, 1, 100), {.absolute = 3e-4, .relative = 4e-6});
  }
}

TEST(LayerNormalizeBackward, AgreesWithTheReference) {
  for (const Dims& dims : kShapes) {
    for (const std::int64_t center : {0, 1}) {
      const OpCase normalize = forward(dims, center);
      const OpResult known = run_op(reference_table(), normalize, 1);
      const OpCase op_case{Op::LayerNormalizeBackward,
                           {{"center", center}},
                           {random_array(dims, 3), normalize.inputs[0], normalize.inputs[1],
                            known.outputs[1], known.outputs[2]},
                           {},
                           "backward of " + normalize.name};
      const Bound sum = sum_of(normalize.inputs[0].type.rows());
      const Bound bound{.absolute = kBound.absolute + sum.absolute, .relative = kBound.relative};
      expect_agrees(op_case, bound);
      expect_agrees_in_bf16(op_case, 2, bound);
    }
  }
}

}  // namespace
}  // namespace regatta::cpu::test
