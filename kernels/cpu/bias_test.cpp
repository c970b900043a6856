// SPDX-License-Identifier: Apache-2.0
//
// bias and its backward op, for every device that has kernels (test_support.h).
#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

// Rows of 1, 3, 5, 24, 64 and 100 channels; the last two enter OpenMP on two threads.
const Dims kImages[] = {{1, 1, 1, 1}, {2, 7, 5, 3},  {50, 5},       {3, 3, 3, 24},
                        {5, 64},      {70, 9, 9, 5}, {9, 8, 8, 100}};

TEST(Bias, AgreesWithTheReference) {
  for (const Dims& dims : kImages) {
    const OpCase op_case{
        Op::Bias, {}, {random_array(dims, 5), random_array({dims.back()}, 6)}, {}, "bias"};
    expect_agrees(op_case, {.absolute = 0x1p-24, .relative = 0x1p-23});
    expect_agrees_in_bf16(op_case, 1, {});
  }
}

TEST(BiasBackward, AgreesWithTheReference) {
  for (const Dims& dims : kImages) {
    const OpCase op_case{Op::BiasBackward, {}, {random_array(dims, 7)}, {}, "bias_backward"};
    const Bound bound = sum_of(op_case.inputs[0].type.elements() / dims.back());
    expect_agrees(op_case, bound);
    expect_agrees_in_bf16(op_case, 1, bound);
  }
}

}  // namespace
}  // namespace regatta::cpu::test
