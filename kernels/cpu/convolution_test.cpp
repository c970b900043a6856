// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/lacks_for_test.h"
#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

struct Shape {
  std::int64_t batch, height, width, inputs, outputs;
  std::int64_t kernel, stride, padding;
  std::int64_t groups = 1;
};

// Odd channels, one example, odd and unequal sides, stride 2, no padding, 1 x 1 windows, a border
// that the stride leaves over, and a layer of resnet9_thin; then groups, with several channels each
// and with one (depthwise), sides 4 to 32, odd batches and channels; and many weights of one pixel.
constexpr Shape kShapes[] = {
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

std::string name_of(const Shape& s) {
  return std::to_string(s.batch) + "x" + std::to_string(s.height) + "x" + std::to_string(s.width) +
         " " + std::to_string(s.inputs) + " -> " + std::to_string(s.outputs) + " kernel " +
         std::to_string(s.kernel) + " stride " + std::to_string(s.stride) + " padding " +
         std::to_string(s.padding) + " groups " + std::to_string(s.groups);
}

struct Arrays {
  explicit Arrays(const Shape& s)
      : x(random_array({s.batch, s.height, s.width, s.inputs}, 1)),
        w(random_array({s.outputs, s.kernel, s.kernel, s.inputs / s.groups}, 2)),
        dy(random_array({s.batch, side(s, s.height), side(s, s.width), s.outputs}, 3)) {}
  static std::int64_t side(const Shape& s, std::int64_t n) {
    return (n + 2 * s.padding - s.kernel) / s.stride + 1;
  }
  Array x, w, dy;
};

Attributes window(const Shape& s) {
  Attributes attributes{{"kernel", s.kernel}, {"stride", s.stride}, {"padding", s.padding}};
  if (s.groups != 1) attributes.set("groups", s.groups);
  return attributes;
}

Attributes rebuild(const Shape& s, const Array& target) {
  Attributes attributes = window(s);
  attributes.set("dims", target.type.dims);
  return attributes;
}

OpCase forward(const Shape& s) {
  const Arrays a(s);
  return {Op::Convolution, window(s), {a.x, a.w}, {}, "convolution " + name_of(s)};
}

OpCase backward_data(const Shape& s) {
  const Arrays a(s);
  Attributes attributes = rebuild(s, a.x);
  attributes.set("images", std::int64_t{1});
  return {Op::ConvolutionBackwardData, attributes, {a.dy, a.w}, {}, "backward data " + name_of(s)};
}

OpCase backward_weights(const Shape& s) {
  const Arrays a(s);
  return {Op::ConvolutionBackwardWeights,
          rebuild(s, a.w),
          {a.dy, a.x},
          {},
          "backward weights " + name_of(s)};
}

std::int64_t terms_of_y(const Shape& s) { return s.kernel * s.kernel * s.inputs / s.groups; }

std::int64_t terms_of_x(const Shape& s) { return s.kernel * s.kernel * s.outputs / s.groups; }

std::int64_t terms_of_weights(const Shape& s) {
  return s.batch * Arrays::side(s, s.height) * Arrays::side(s, s.width);
}

TEST(Convolution, AgreesWithTheReference) {
  for (const Shape& s : kShapes) {
    expect_agrees(forward(s), sum_of(terms_of_y(s)));
  }
}

TEST(ConvolutionBackwardData, AgreesWithTheReference) {
  for (const Shape& s : kShapes) {
    expect_agrees(backward_data(s), sum_of(terms_of_x(s)));
  }
}

TEST(ConvolutionBackwardWeights, AgreesWithTheReference) {
  for (const Shape& s : kShapes) expect_agrees(backward_weights(s), sum_of(terms_of_weights(s)));
}

TEST(Convolution, AgreesInBf16InAllPasses) {
  if (const std::string why = why_cpu_lacks(ElementType::BF16); !why.empty()) GTEST_SKIP() << why;
  for (const Shape& s : kShapes) {
    expect_agrees_in_bf16(forward(s), 2, sum_of(terms_of_y(s)));
    expect_agrees_in_bf16(backward_data(s), 2, sum_of(terms_of_x(s)));
    expect_agrees_in_bf16(backward_weights(s), 2, sum_of(terms_of_weights(s)));
  }
}

// Cases for the divisions of our own bf16 passes: batches that fill a group of 32 images and ones
// that do not, several groups, channels that do not fill a tile, more channels than a chunk, rows
// in several blocks, both windows, groups.
constexpr Shape kTiledShapes[] = {
    {37, 7, 5, 24, 40, 3, 1, 1},   {32, 3, 3, 144, 272, 3, 1, 1}, {65, 5, 6, 16, 16, 3, 1, 2},
    {70, 6, 5, 40, 20, 2, 1, 1},   {33, 31, 31, 24, 64, 3, 1, 1}, {17, 9, 8, 130, 17, 3, 1, 0},
    {32, 5, 4, 64, 96, 3, 1, 2},   {64, 4, 5, 32, 64, 2, 1, 0},   {160, 2, 3, 33, 65, 3, 1, 1},
    {20, 17, 4, 160, 48, 2, 1, 0},
};

TEST(Convolution, AgreesInBf16WhereTheBatchIsLarge) {
  if (const std::string why = why_cpu_lacks(ElementType::BF16); !why.empty()) GTEST_SKIP() << why;
  for (const Shape& s : kTiledShapes) {
    expect_agrees_in_bf16(forward(s), 2, sum_of(terms_of_y(s)));
    expect_agrees_in_bf16(backward_data(s), 2, sum_of(terms_of_x(s)));
    expect_agrees_in_bf16(backward_weights(s), 2, sum_of(terms_of_weights(s)));
  }
}

TEST(Convolution, TakesAGradientThatIsNotAlignedToACacheLine) {
  // Gradients of an all_reduce are contiguous in their bucket.
  const Shape s{2, 7, 9, 3, 5, 3, 1, 1};
  const OpCase op_case = backward_weights(s);
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
