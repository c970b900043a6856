// SPDX-License-Identifier: Apache-2.0
//
// dense and its backward ops, for every device that has kernels (test_support.h).
#include "kernels/cpu/dense_paths.h"
#include "kernels/cpu/lacks_for_test.h"
#include "kernels/cpu/product_cases_for_test.h"

namespace regatta::cpu::test {
namespace {

// The parabola's two layers; the corner cases of unrolled loops; loops that are not unrolled;
// products by oneDNN; widths on both sides of 8.
constexpr DenseShape kShapes[] = {{50, 1, 5}, {50, 5, 1},   {1, 1, 1},     {3, 8, 8},
                                  {7, 9, 3},  {2, 3, 24},   {16, 24, 31},  {1, 64, 10},
                                  {33, 7, 2}, {64, 64, 10}, {129, 65, 33}, {40, 300, 24}};

TEST(Dense, AgreesWithTheReferenceInAllPasses) {
  for (const DenseShape& s : kShapes) {
    for (const Product& pass : passes_of(s)) expect_agrees(pass.op, sum_of(pass.terms));
  }
}

// On every processor, whatever the rule takes. 50,000 elements of dy are divided among threads.
TEST(DenseBackwardWeights, ByPanelsAgreesWithTheReference) {
  KernelTable table("panels");
  table.add(Op::DenseBackwardWeights, dense_panels_backward_weights);
  std::vector<DenseShape> shapes(std::begin(kShapes), std::end(kShapes));
  shapes.insert(shapes.end(), {{300, 40, 170}, {300, 170, 167}});
  for (const DenseShape& s : shapes) {
    const OpCase op_case = passes_of(s)[2].op;
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
  for (const DenseShape& s : kShapes) {
    for (const Product& pass : passes_of(s)) expect_agrees_in_bf16(pass.op, 2, sum_of(pass.terms));
  }
}

}  // namespace
}  // namespace regatta::cpu::test
