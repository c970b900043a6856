// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/lacks_for_test.h"
#include "kernels/cpu/product_cases_for_test.h"

namespace regatta::cpu::test {
namespace {

// Odd channels, one example, odd and unequal sides, stride 2, no padding, 1 x 1 windows, a border
// that the stride leaves over, and a layer of resnet9_thin; then groups, with several channels each
// and with one (depthwise), sides 4 to 32, odd batches and channels; and many weights of one pixel.
constexpr ConvolutionShape kShapes[] = {
    {1, 5, 5, 1, 1, 3, 1, 1},         {2, 7, 9, 3, 5, 3, 1, 1},
    {3, 8, 8, 5, 24, 3, 2, 1},        {1, 9, 7, 24, 3, 3, 2, 0},
    {2, 6, 6, 64, 24, 1, 1, 0},       {2, 11, 11, 3, 64, 5, 2, 2},
    {1, 4, 4, 64, 64, 3, 1, 0},       {2, 5, 5, 24, 64, 2, 1, 0},
    {4, 16, 16, 16, 32, 3, 1, 1},     {2, 8, 8, 3, 16, 2, 1, 0},
    {5, 3, 3, 64, 128, 3, 1, 1},      {2, 6, 5, 6, 4, 3, 1, 1, 2},
    {1, 7, 7, 32, 64, 3, 2, 1, 2},    {3, 32, 32, 32, 32, 3, 1, 1, 32},
    {3, 32, 32, 24, 24, 3, 2, 1, 24}, {1, 16, 16, 144, 144, 3, 1, 1, 144},
    {5, 9, 8, 5, 5, 3, 2, 1, 5},      {3, 4, 4, 80, 80, 3, 1, 1, 80},
    {2, 8, 8, 3, 6, 3, 1, 0, 3},      {3, 5, 7, 72, 64, 1, 1, 0},
};

TEST(Convolution, AgreesWithTheReferenceInAllPasses) {
  for (const ConvolutionShape& s : kShapes) {
    for (const Product& pass : passes_of(s)) expect_agrees(pass.op, sum_of(pass.terms));
  }
}

TEST(Convolution, AgreesInBf16InAllPasses) {
  if (const std::string why = why_cpu_lacks(ElementType::BF16); !why.empty()) GTEST_SKIP() << why;
  for (const ConvolutionShape& s : kShapes) {
    for (const Product& pass : passes_of(s)) expect_agrees_in_bf16(pass.op, 2, sum_of(pass.terms));
  }
}

// Cases for the divisions of our own bf16 passes: batches that fill a group of 32 images and ones
// that do not, several groups, channels that do not fill a tile, more channels than a chunk, rows
// in several blocks, both windows, groups.
constexpr ConvolutionShape kTiledShapes[] = {
    {37, 7, 5, 24, 40, 3, 1, 1},   {32, 3, 3, 144, 272, 3, 1, 1}, {65, 5, 6, 16, 16, 3, 1, 2},
    {70, 6, 5, 40, 20, 2, 1, 1},   {33, 31, 31, 24, 64, 3, 1, 1}, {17, 9, 8, 130, 17, 3, 1, 0},
    {32, 5, 4, 64, 96, 3, 1, 2},   {64, 4, 5, 32, 64, 2, 1, 0},   {160, 2, 3, 33, 65, 3, 1, 1},
    {20, 17, 4, 160, 48, 2, 1, 0},
};

TEST(Convolution, AgreesInBf16WhereTheBatchIsLarge) {
  if (const std::string why = why_cpu_lacks(ElementType::BF16); !why.empty()) GTEST_SKIP() << why;
  for (const ConvolutionShape& s : kTiledShapes) {
    for (const Product& pass : passes_of(s)) expect_agrees_in_bf16(pass.op, 2, sum_of(pass.terms));
  }
}

TEST(Convolution, TakesAGradientThatIsNotAlignedToACacheLine) {
  // Gradients of an all_reduce are contiguous in their bucket.
  const OpCase op_case = passes_of(ConvolutionShape{2, 7, 9, 3, 5, 3, 1, 1})[2].op;
  const OpResult expected = run_op(reference_table(), op_case, 1);
  const Array memory({ElementType::F32, {expected.outputs[0].type.elements() + 1}});
  Node node{.op = op_case.op, .attributes = op_case.attributes};
  node.outputs = {expected.outputs[0].type};
  const std::vector<Tensor> inputs{op_case.inputs[0].tensor(), op_case.inputs[1].tensor()};
  const std::vector<Tensor> outputs{{expected.outputs[0].type, memory.f32() + 1}};
  cpu_table()
      .build({.node = node,
              .inputs = inputs,
              .outputs = outputs,
              .variables = {},
              .versions_seen = {}})
      ->run({});
  for (std::int64_t i = 0; i < expected.outputs[0].type.elements(); ++i) {
    ASSERT_NEAR(outputs[0].f32()[i], expected.outputs[0].f32()[i], 1e-4);
  }
}

}  // namespace
}  // namespace regatta::cpu::test
