// SPDX-License-Identifier: Apache-2.0
//
// attention and its backward op, for every device that has kernels (test_support.h).
#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

struct Shape {
  std::int64_t batch, tokens, heads, channels;  ///< channels of a head
};

// Contexts of one token, of less than a tile, of whole and of broken blocks; heads narrower than a
// register, of whole ones and one more.
constexpr Shape kShapes[] = {{1, 1, 1, 2},  {3, 1, 4, 8},   {2, 5, 3, 33},   {1, 64, 4, 32},
                             {2, 64, 1, 8}, {1, 100, 3, 2}, {1, 130, 1, 64}, {2, 130, 3, 33}};

std::string name_of(const Shape& s) {
  return std::to_string(s.batch) + "x" + std::to_string(s.tokens) + ", " + std::to_string(s.heads) +
         " heads of " + std::to_string(s.channels);
}

/// `size`: the largest element of x.
OpCase forward(const Shape& s, float size) {
  Array x = random_array({s.batch, s.tokens, 3 * s.heads * s.channels}, 1);
  for (std::int64_t i = 0; i < x.type.elements(); ++i) x.f32()[i] *= size;
  return {Op::Attention, {{"heads", s.heads}}, {x}, {}, "attention " + name_of(s)};
}

/// The outputs of the forward op are rounded to bf16, so that both element types hold them exactly.
OpCase backward(const Shape& s, float size) {
  const OpCase before = forward(s, size);
  OpResult result = run_op(reference_table(), before, 1);
  Array y = result.outputs[0];
  const Array rounded = to_bf16(y);
  for (std::int64_t i = 0; i < y.type.elements(); ++i) y.f32()[i] = rounded.at(i);
  return {Op::AttentionBackward,
          {{"heads", s.heads}},
          {random_array(y.type.dims, 2), before.inputs[0], y, result.outputs[1]},
          {},
          "attention_backward " + name_of(s)};
}

/// A score, and l, err by a few 2^-24 of their size, the weights in proportion to that.
Bound bound_of(const Shape& s, float size) {
  const double scores = std::sqrt(static_cast<double>(s.channels)) * double{size} * size;
  return {.absolute = double{size} * (sum_of(s.tokens).absolute + 8 * 0x1p-24 * (1 + scores)),
          .relative = 0x1p-20};
}

TEST(Attention, AgreesWithTheReference) {
  for (const Shape& s : kShapes) {
    expect_agrees(forward(s, 1), bound_of(s, 1));
    expect_agrees_in_bf16(forward(s, 1), 1, bound_of(s, 1));
  }
}

TEST(AttentionBackward, AgreesWithTheReference) {
  for (const Shape& s : kShapes) {
    expect_agrees(backward(s, 1), bound_of(s, 1));
    expect_agrees_in_bf16(backward(s, 1), 3, bound_of(s, 1));
  }
}

// exp overflows beyond 88.
TEST(Attention, HoldsScoresWhoseExponentialsOverflow) {
  constexpr Shape kShape{1, 100, 1, 8};
  constexpr float kSize = 16;
  const OpCase op_case = forward(kShape, kSize);
  const Array l = run_op(reference_table(), op_case, 1).outputs[1];
  EXPECT_GT(*std::max_element(l.f32(), l.f32() + l.type.elements()), 200);
  expect_agrees(op_case, bound_of(kShape, kSize));
  const Bound bound = bound_of(kShape, kSize);
  expect_agrees(backward(kShape, kSize), {16 * bound.absolute, bound.relative});
}

// A token's results do not depend on those after it, bit by bit.
TEST(Attention, IsCausal) {
  constexpr Shape kShape{1, 70, 2, 16};
  constexpr std::int64_t kFirst = 37, kChannels = 2 * 16;
  const OpCase op_case = forward(kShape, 1);
  OpCase changed = op_case;
  float* x = changed.inputs[0].f32();
  for (std::int64_t i = kFirst * 3 * kChannels; i < changed.inputs[0].type.elements(); ++i) {
    x[i] = 50;
  }
  for (const Subject& subject : subjects()) {
    const Array y = subject.run(op_case, 1).outputs[0];
    const Array other = subject.run(changed, 1).outputs[0];
    EXPECT_EQ(std::memcmp(y.f32(), other.f32(), kFirst * kChannels * sizeof(float)), 0)
        << subject.name;
    EXPECT_NE(y.f32()[kFirst * kChannels], other.f32()[kFirst * kChannels]) << subject.name;
  }
}

}  // namespace
}  // namespace regatta::cpu::test
