// SPDX-License-Identifier: Apache-2.0
//
// max_pool, average_pool and their backward ops, for every device that has kernels
// (test_support.h).
#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

struct Shape {
  std::int64_t batch, height, width, channels;
  std::int64_t kernel, stride, padding;
};

// Windows that tile the image, overlap, leave out pixels or cross the border; odd channels; more
// than a block of channels; enough work for two threads.
constexpr Shape kShapes[] = {{1, 4, 4, 1, 2, 2, 0},    {2, 7, 5, 3, 2, 2, 0},
                             {2, 9, 9, 5, 3, 2, 1},    {1, 8, 8, 24, 3, 1, 1},
                             {3, 5, 5, 64, 5, 5, 0},   {2, 7, 7, 65, 2, 3, 1},
                             {1, 6, 6, 130, 3, 2, 0},  {4, 16, 16, 64, 2, 2, 0},
                             {2, 31, 31, 24, 3, 2, 1}, {2, 4, 4, 512, 4, 4, 0}};

std::string name_of(const Shape& s) {
  return std::to_string(s.height) + "x" + std::to_string(s.width) + "x" +
         std::to_string(s.channels) + " kernel " + std::to_string(s.kernel) + " stride " +
         std::to_string(s.stride) + " padding " + std::to_string(s.padding);
}

Attributes window(const Shape& s) {
  return {{"kernel", s.kernel}, {"stride", s.stride}, {"padding", s.padding}};
}

Array image(const Shape& s) { return random_array({s.batch, s.height, s.width, s.channels}, 1); }

OpCase forward(const Shape& s, Op op) {
  return {op, window(s), {image(s)}, {}, std::string(to_string(op)) + " " + name_of(s)};
}

Attributes rebuild(const Shape& s) {
  Attributes attributes = window(s);
  attributes.set("dims", image(s).type.dims);
  return attributes;
}

OpCase max_pool_backward(const Shape& s) {
  const OpResult pooled = run_op(reference_table(), forward(s, Op::MaxPool), 1);
  return {Op::MaxPoolBackward,
          rebuild(s),
          {random_array(pooled.outputs[0].type.dims, 2), pooled.outputs[1]},
          {},
          "max_pool_backward " + name_of(s)};
}

OpCase average_pool_backward(const Shape& s) {
  const OpResult pooled = run_op(reference_table(), forward(s, Op::AveragePool), 1);
  return {Op::AveragePoolBackward,
          rebuild(s),
          {random_array(pooled.outputs[0].type.dims, 2)},
          {},
          "average_pool_backward " + name_of(s)};
}

TEST(MaxPool, YieldsTheReferencesValuesAndPositions) {
  for (const Shape& s : kShapes) {
    expect_agrees(forward(s, Op::MaxPool), {});
    expect_agrees_in_bf16(forward(s, Op::MaxPool), 1, {});
  }
}

TEST(MaxPool, TakesTheFirstOfEquals) {
  Array x({ElementType::F32, {1, 2, 2, 3}});  // zeros
  const Attributes window{
      {"kernel", std::int64_t{2}}, {"stride", std::int64_t{2}}, {"padding", std::int64_t{0}}};
  for (const Subject& subject : subjects()) {
    const OpResult result = subject.run({Op::MaxPool, window, {x}, {}, "equals"}, 1);
    for (std::int64_t c = 0; c < 3; ++c) EXPECT_EQ(result.outputs[1].at(c), 0) << subject.name;
  }
}

TEST(MaxPoolBackward, AgreesWithTheReference) {
  for (const Shape& s : kShapes) {
    expect_agrees(max_pool_backward(s), sum_of(s.kernel * s.kernel));
    expect_agrees_in_bf16(max_pool_backward(s), 1, sum_of(s.kernel * s.kernel));
  }
}

TEST(AveragePool, AgreesWithTheReference) {
  for (const Shape& s : kShapes) {
    expect_agrees(forward(s, Op::AveragePool), sum_of(s.kernel * s.kernel));
    expect_agrees_in_bf16(forward(s, Op::AveragePool), 1, sum_of(s.kernel * s.kernel));
  }
}

TEST(AveragePoolBackward, AgreesWithTheReference) {
  for (const Shape& s : kShapes) {
    expect_agrees(average_pool_backward(s), sum_of(s.kernel * s.kernel));
    expect_agrees_in_bf16(average_pool_backward(s), 1, sum_of(s.kernel * s.kernel));
  }
}

}  // namespace
}  // namespace regatta::cpu::test
