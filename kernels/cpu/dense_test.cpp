// SPDX-License-Identifier: Apache-2.0
//
// dense and its backward ops, for every device that has kernels (test_support.h).
#include "kernels/cpu/dense_paths.h"
#include "kernels/cpu/lacks_for_test.h"
#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

struct Shape {
  std::int64_t batch, inputs, outputs;
};

// The parabola's two layers; the corner cases of unrolled loops; loops that are not unrolled;
// products by oneDNN; widths on both sides of 8.
constexpr Shape kShapes[] = {{50, 1, 5}, {50, 5, 1},   {1, 1, 1},     {3, 8, 8},
                             {7, 9, 3},  {2, 3, 24},   {16, 24, 31},  {1, 64, 10},
                             {33, 7, 2}, {64, 64, 10}, {129, 65, 33}, {40, 300, 24}};

std::string name_of(const Shape& s) {
  return std::to_string(s.batch) + " x " + std::to_string(s.inputs) + " -> " +
         std::to_string(s.outputs);
}

struct Arrays {
  explicit Arrays(const Shape& s)
      : x(random_array({s.batch, s.inputs}, 1)),
        w(random_array({s.outputs, s.inputs}, 2)),
        dy(random_array({s.batch, s.outputs}, 3)),
        b(random_array({s.outputs}, 4)) {}
  Array x, w, dy, b;
};

OpCase forward(const Shape& s) {
  const Arrays a(s);
  return {Op::Dense, {}, {a.x, a.w}, {}, "dense " + name_of(s)};
}
OpCase backward_data(const Shape& s) {
  const Arrays a(s);
  return {Op::DenseBackwardData, {}, {a.dy, a.w}, {}, "backward data " + name_of(s)};
}
OpCase backward_weights(const Shape& s) {
  const Arrays a(s);
  return {Op::DenseBackwardWeights, {}, {a.dy, a.x}, {}, "backward weights " + name_of(s)};
}

TEST(Dense, AgreesWithTheReference) {
  for (const Shape& s : kShapes) expect_agrees(forward(s), sum_of(s.inputs));
}

TEST(DenseBackwardData, AgreesWithTheReference) {
  for (const Shape& s : kShapes) expect_agrees(backward_data(s), sum_of(s.outputs));
}

TEST(DenseBackwardWeights, AgreesWithTheReference) {
  for (const Shape& s : kShapes) expect_agrees(backward_weights(s), sum_of(s.batch));
}

// On every processor, whatever the rule takes. 50,000 elements of dy are divided among threads.
TEST(DenseBackwardWeights, ByPanelsAgreesWithTheReference) {
  KernelTable table("panels");
  table.add(Op::DenseBackwardWeights, dense_panels_backward_weights);
  std::vector<Shape> shapes(std::begin(kShapes), std::end(kShapes));
  shapes.insert(shapes.end(), {{300, 40, 170}, {300, 170, 167}});
  for (const Shape& s : shapes) {
    const OpCase op_case = backward_weights(s);
    const OpResult expected = run_op(reference_table(), op_case, 1);
    for (const int threads : {1, 2, 3}) {
      expect_close(run_op(table, op_case, threads).outputs, expected.outputs, sum_of(s.batch),
                   op_case.name + " on " + std::to_string(threads));
    }
  }
}

TEST(Dense, TakesTheLastDimensionOfAnyRank) {
  const Array x = random_array({2, 3, 9}, 1), w = random_array({4, 9}, 2);
  const Array dy = random_array({2, 3, 4}, 3);
  expect_agrees({Op::Dense, {}, {x, w}, {}, "dense of sequences"}, sum_of(9));
  expect_agrees({Op::DenseBackwardData, {}, {dy, w}, {}, "backward data of sequences"}, sum_of(4));
  expect_agrees({Op::DenseBackwardWeights, {}, {dy, x}, {}, "weights of sequences"}, sum_of(6));
}

TEST(Dense, TakesSeveralMatricesBelowEachOther) {
  const Array x = random_array({2, 3, 9}, 1), w = random_array({3, 4, 9}, 2);
  const Array dy = random_array({2, 3, 12}, 3);
  expect_agrees({Op::Dense, {}, {x, w}, {}, "dense of matrices"}, sum_of(9));
  expect_agrees({Op::DenseBackwardData, {}, {dy, w}, {}, "backward data of matrices"}, sum_of(12));
  expect_agrees({Op::DenseBackwardWeights,
                 {{"matrices", std::int64_t{3}}},
                 {dy, x},
                 {},
                 "weights of matrices"},
                sum_of(6));
}

TEST(Dense, AgreesInBf16InAllPasses) {
  if (const std::string why = why_cpu_lacks(ElementType::BF16); !why.empty()) GTEST_SKIP() << why;
  for (const Shape& s : kShapes) {
    expect_agrees_in_bf16(forward(s), 2, sum_of(s.inputs));
    expect_agrees_in_bf16(backward_data(s), 2, sum_of(s.outputs));
    expect_agrees_in_bf16(backward_weights(s), 2, sum_of(s.batch));
  }
}

}  // namespace
}  // namespace regatta::cpu::test
