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

/// A sequence of 2 `parts` chunks that `parts` places share: place i has chunks i and 2 parts - 1 -
/// i.
struct Ring {
  Shape shape;
  std::int64_t parts;

  std::vector<std::int64_t> chunks(std::int64_t place) const {
    return {place, 2 * parts - 1 - place};
  }
  std::int64_t length() const { return shape.tokens / (2 * parts); }
  /// A place's tokens of x [B, S, ...], and of their channels those from `channel` on.
  Array share(const Array& x, std::int64_t place, std::int64_t channel = 0) const {
    std::vector<std::int64_t> begins = chunks(place);
    for (std::int64_t& each : begins) each *= length();
    const Array tokens =
        run_op(reference_table(),
               {Op::Take, {{"axis", 1}, {"begins", begins}, {"length", length()}}, {x}, {}, ""}, 1)
            .outputs[0];
    const std::int64_t left = tokens.type.dims.back() - channel;
    return run_op(reference_table(),
                  {Op::Take,
                   {{"axis", 2}, {"begins", std::vector<std::int64_t>{channel}}, {"length", left}},
                   {tokens},
                   {},
                   ""},
                  1)
        .outputs[0];
  }
  /// l of a place's tokens, of l [B, heads, S].
  Array log_share(const Array& l, std::int64_t place) const {
    std::vector<std::int64_t> begins = chunks(place);
    for (std::int64_t& each : begins) each *= length();
    return run_op(reference_table(),
                  {Op::Take, {{"axis", 2}, {"begins", begins}, {"length", length()}}, {l}, {}, ""},
                  1)
        .outputs[0];
  }
  Attributes block(std::int64_t place, std::int64_t other) const {
    return {{"heads", shape.heads}, {"queries", chunks(place)}, {"keys", chunks(other)}};
  }
};

/// 2 to 4 places; chunks of one token, of less than a panel, of more and of whole blocks.
const Ring kRings[] = {{{2, 4, 2, 8}, 2},    {{1, 42, 3, 33}, 3}, {{2, 16, 4, 16}, 4},
                       {{1, 280, 1, 64}, 2}, {{1, 512, 2, 8}, 2}, {{1, 120, 2, 2}, 3}};

void add_to(Array& sum, const Array& term) {
  for (std::int64_t i = 0; i < sum.type.elements(); ++i) sum.f32()[i] += term.f32()[i];
}

/// Blocks of keys in the order of a ring give what attention over the whole sequence gives, at
/// every position, and its gradient.
void expect_whole(const Ring& ring, const Subject& subject, ElementType element) {
  const auto as_element = [&](const Array& a) {
    return element == ElementType::BF16 ? to_bf16(a) : a;
  };
  const bool halved = element == ElementType::BF16;
  OpCase whole = backward(ring.shape, 1);  // dy, x, y, l
  for (const std::size_t input : {0, 1}) {
    Array& each = whole.inputs[input];
    const Array rounded = to_bf16(each);
    for (std::int64_t i = 0; halved && i < each.type.elements(); ++i) {
      each.f32()[i] = rounded.at(i);
    }
  }
  const std::vector<Array>& in = whole.inputs;
  const OpResult forward =
      run_op(reference_table(), {Op::Attention, {{"heads", ring.shape.heads}}, {in[1]}, {}, ""}, 1);
  const Array dx = run_op(reference_table(), whole, 1).outputs[0];
  const std::int64_t channels = ring.shape.heads * ring.shape.channels;
  Bound bound = bound_of(ring.shape, 1);
  bound.absolute *= static_cast<double>(ring.parts);
  const Bound rounded = halved ? rounded_to_bf16(bound) : bound;
  std::vector<Array> dkv;
  for (std::int64_t i = 0; i < ring.parts; ++i) {
    dkv.push_back(ring.share(dx, i, channels));
    std::fill_n(dkv.back().f32(), dkv.back().type.elements(), 0.0F);
  }
  for (std::int64_t i = 0; i < ring.parts; ++i) {
    const std::string what = name_of(ring.shape) + " of place " + std::to_string(i) + " of " +
                             std::to_string(ring.parts) + subject.name;
    const Array x = as_element(ring.share(in[1], i)), dy = as_element(ring.share(in[0], i));
    const Array y = as_element(ring.share(in[2], i)), l = ring.log_share(in[3], i);
    std::vector<Array> sums;
    Array dq = ring.share(in[0], i);
    std::fill_n(dq.f32(), dq.type.elements(), 0.0F);
    for (std::int64_t step = 0; step < ring.parts; ++step) {
      const std::int64_t j = (i + ring.parts - step) % ring.parts;
      const Array kv = as_element(ring.share(in[1], j, channels));
      OpCase block{Op::Attention, ring.block(i, j), {x, kv}, {}, ""};
      block.inputs.insert(block.inputs.end(), sums.begin(), sums.end());
      sums = subject.run(block, 1).outputs;
      const OpResult terms =
          subject.run({Op::AttentionBackward, ring.block(i, j), {dy, x, y, l, kv}, {}, ""}, 1);
      add_to(dq, terms.outputs[0]);
      add_to(dkv[static_cast<std::size_t>(j)], terms.outputs[1]);
    }
    expect_close(sums, {ring.share(forward.outputs[0], i), ring.log_share(forward.outputs[1], i)},
                 bound, what);
    Array of_queries =
        run_op(reference_table(),
               {Op::Take,
                {{"axis", 2}, {"begins", std::vector<std::int64_t>{0}}, {"length", channels}},
                {ring.share(dx, i)},
                {},
                ""},
               1)
            .outputs[0];
    expect_close({dq}, {of_queries}, rounded, what + ", dq");
  }
  for (std::int64_t i = 0; i < ring.parts; ++i) {
    expect_close({dkv[static_cast<std::size_t>(i)]}, {ring.share(dx, i, channels)}, rounded,
                 name_of(ring.shape) + ", dkv" + subject.name);
  }
}

TEST(AttentionOfBlocks, IsThatOfTheWholeSequenceAtEveryPosition) {
  for (const Ring& ring : kRings) {
    for (const Subject& subject : subjects()) {
      expect_whole(ring, subject, ElementType::F32);
      expect_whole(ring, subject, ElementType::BF16);
    }
    expect_whole(
        ring,
        {.name = " of the reference",
         .run = [](const OpCase& op, std::int64_t) { return run_op(reference_table(), op, 1); }},
        ElementType::F32);
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
