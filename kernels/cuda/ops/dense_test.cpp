// SPDX-License-Identifier: Apache-2.0
//
// Tests dense on the emulated queue and on a GPU: the factory's choice, and our own tiles.
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/ops/dense_paths.h"
#include "kernels/cuda/ops/products_for_test.h"

namespace regatta::cuda {
namespace {

using cpu::test::random_array;
using cpu::test::rounded_to_bf16;
using cpu::test::sum_of;
using testing_support::Build;
using testing_support::kDevices;
using testing_support::name_of_device;
using testing_support::OpCase;

struct DenseShape {
  std::int64_t batch, inputs, outputs;
};

// One element; sides below, at and above those of a tile; odd ones; terms divided among several
// blocks, in each of the three passes.
constexpr DenseShape kDenseShapes[] = {{1, 1, 1},    {3, 8, 5},     {64, 64, 64},  {65, 63, 130},
                                       {129, 17, 7}, {5, 2100, 11}, {70, 9, 1300}, {3001, 6, 10}};

std::string name_of(const DenseShape& s) {
  return std::to_string(s.batch) + " x " + std::to_string(s.inputs) + " -> " +
         std::to_string(s.outputs);
}

OpCase forward(const DenseShape& s) {
  return {Op::Dense,
          {},
          {random_array({s.batch, s.inputs}, 1), random_array({s.outputs, s.inputs}, 2)},
          {},
          "dense " + name_of(s)};
}
OpCase backward_data(const DenseShape& s) {
  return {Op::DenseBackwardData,
          {},
          {random_array({s.batch, s.outputs}, 3), random_array({s.outputs, s.inputs}, 2)},
          {},
          "backward data " + name_of(s)};
}
OpCase backward_weights(const DenseShape& s) {
  return {Op::DenseBackwardWeights,
          {},
          {random_array({s.batch, s.outputs}, 3), random_array({s.batch, s.inputs}, 1)},
          {},
          "backward weights " + name_of(s)};
}

/// Builds our own tiles from the same request.
Build own(KernelPointer (*build)(const KernelRequest&, const std::string&)) {
  return [build](const KernelRequest& request) { return build(request, "a test asks for it"); };
}

class Dense : public testing_support::Products {};
INSTANTIATE_TEST_SUITE_P(On, Dense, kDevices, name_of_device);

TEST_P(Dense, AgreesWithTheReference) {
  for (const DenseShape& s : kDenseShapes) {
    const auto bound = sum_of(s.inputs);
    expect_agrees(dense, forward(s), bound, rounded_to_bf16(bound));
    expect_agrees(own(dense_tiles), forward(s), bound, rounded_to_bf16(bound));
  }
}

TEST_P(Dense, AgreesInTheGradientOfItsInput) {
  for (const DenseShape& s : kDenseShapes) {
    const auto bound = sum_of(s.outputs);
    expect_agrees(dense_backward_data, backward_data(s), bound, rounded_to_bf16(bound));
    expect_agrees(own(dense_tiles_backward_data), backward_data(s), bound, rounded_to_bf16(bound));
  }
}

TEST_P(Dense, AgreesInTheGradientOfItsWeightsWhichIsF32) {
  for (const DenseShape& s : kDenseShapes) {
    const auto bound = sum_of(s.batch);
    expect_agrees(dense_backward_weights, backward_weights(s), bound, bound);
    expect_agrees(own(dense_tiles_backward_weights), backward_weights(s), bound, bound);
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
  run(dense, forward({3, 8, 5}));
  if (queue().emulated()) {
    EXPECT_EQ(choice(), "own tiles: the queue is emulated");
  } else if (why_no_cublas_lt().empty()) {
    EXPECT_EQ(choice().find("cuBLASLt "), 0U) << choice();
  } else {
    EXPECT_EQ(choice(), "own tiles: " + why_no_cublas_lt());
  }
}

TEST_P(Dense, LeavesOtherElementsToNobody) {
  const OpCase labels{
      Op::Dense,
      {},
      {cpu::test::Array({ElementType::I32, {2, 2}}), cpu::test::Array({ElementType::I32, {2, 2}})},
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
