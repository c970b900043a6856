// SPDX-License-Identifier: Apache-2.0
//
// Tests dense on the emulated queue and on a GPU: the factory's choice, and our own tiles.
#include "kernels/cpu/product_cases_for_test.h"
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/ops/dense_paths.h"
#include "kernels/cuda/ops/products_for_test.h"

namespace regatta::cuda {
namespace {

using namespace cpu::test;
using namespace testing_support;

// One element; sides below, at and above those of a tile; odd ones; terms divided among several
// blocks, in each of the three passes.
constexpr DenseShape kDenseShapes[] = {{1, 1, 1},    {3, 8, 5},     {64, 64, 64},  {65, 63, 130},
                                       {129, 17, 7}, {5, 2100, 11}, {70, 9, 1300}, {3001, 6, 10}};

/// Builds our own tiles from the same request.
Build own(KernelPointer (*build)(const KernelRequest&, const std::string&)) {
  return [build](const KernelRequest& request) { return build(request, "a test asks for it"); };
}

class Dense : public testing_support::Products {};
INSTANTIATE_TEST_SUITE_P(On, Dense, kDevices, name_of_device);

TEST_P(Dense, AgreesWithTheReferenceInAllPasses) {
  for (const DenseShape& s : kDenseShapes) {
    const auto [forward, of_input, of_weights] = passes_of(s);
    for (const Build& build : {Build(dense), own(dense_tiles)}) {
      const auto bound = sum_of(forward.terms);
      expect_agrees(build, forward.op, bound, rounded_to_bf16(bound));
    }
    for (const Build& build : {Build(dense_backward_data), own(dense_tiles_backward_data)}) {
      const auto bound = sum_of(of_input.terms);
      expect_agrees(build, of_input.op, bound, rounded_to_bf16(bound));
    }
    // This gradient is f32.
    for (const Build& build : {Build(dense_backward_weights), own(dense_tiles_backward_weights)}) {
      expect_agrees(build, of_weights.op, sum_of(of_weights.terms), sum_of(of_weights.terms));
    }
  }
}

TEST_P(Dense, TakesTheLastDimensionOfAnyRank) {
  const auto x = random_array({2, 3, 9}, 1), w = random_array({4, 9}, 2);
  const auto dy = random_array({2, 3, 4}, 3);
  expect_agrees(dense, {Op::Dense, {}, {x, w}, {}, "dense of sequences"}, sum_of(9),
                rounded_to_bf16(sum_of(9)));
  expect_agrees(dense_backward_data,
                {Op::DenseBackwardData, {}, {dy, w}, {}, "backward data of sequences"}, sum_of(4),
                rounded_to_bf16(sum_of(4)));
  expect_agrees(dense_backward_weights,
                {Op::DenseBackwardWeights, {}, {dy, x}, {}, "weights of sequences"}, sum_of(6),
                sum_of(6));
}

TEST_P(Dense, SaysWhatWasChosen) {
  run(dense, passes_of(DenseShape{3, 8, 5})[0].op);
  if (queue().emulated()) {
    EXPECT_EQ(choice(), "own tiles: the queue is emulated");
  } else if (why_no_cublas_lt().empty()) {
    EXPECT_EQ(choice().find("cuBLASLt "), 0U) << choice();
  } else {
    EXPECT_EQ(choice(), "own tiles: " + why_no_cublas_lt());
  }
}

TEST_P(Dense, LeavesOtherElementsToNobody) {
  const OpCase labels{Op::Dense,
                      {},
                      {Array({ElementType::I32, {2, 2}}), Array({ElementType::I32, {2, 2}})},
                      {},
                      "dense of integers"};
  const auto refused = [](const KernelRequest& request) {
    EXPECT_EQ(dense(request), nullptr);
    return make_kernel([](const StepContext&) {});
  };
  run(refused, labels);
}

}  // namespace
}  // namespace regatta::cuda
