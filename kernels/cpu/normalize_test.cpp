// SPDX-License-Identifier: Apache-2.0
//
// normalize with its inference and backward ops, for every device that has kernels
// (test_support.h).
#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

struct Shape {
  std::int64_t batch, height, width, channels;
  std::int64_t group;
};

// One example, odd channels and sides, one and several groups, numbers of groups that the threads
// divide or do not (then groups are sliced), on both sides of the threshold for threads.
constexpr Shape kShapes[] = {{1, 5, 5, 1, 1},    {2, 7, 5, 3, 1},    {6, 3, 3, 5, 2},
                             {4, 8, 8, 24, 4},   {4, 16, 16, 64, 2}, {6, 16, 16, 64, 2},
                             {3, 17, 17, 65, 3}, {5, 9, 9, 130, 1},  {8, 32, 32, 16, 4}};

std::string name_of(const Shape& s) {
  return std::to_string(s.batch) + "x" + std::to_string(s.height) + "x" + std::to_string(s.width) +
         "x" + std::to_string(s.channels) + " in groups of " + std::to_string(s.group);
}

// y is at most about 3 deviations of 1 from the mean: a few roundings of such numbers.
constexpr Bound kBound{.absolute = 4e-6, .relative = 4e-6};

OpCase forward(const Shape& s, float offset) {
  Array x = random_array({s.batch, s.height, s.width, s.channels}, 1);
  for (std::int64_t i = 0; i < x.type.elements(); ++i) x.f32()[i] += offset;
  const Dims channel{s.channels};
  return {Op::Normalize,
          {{"group", s.group}, {"epsilon", 1e-5}, {"momentum", 0.1}},
          {x, random_array(channel, 2), random_array(channel, 3)},
          {random_array(channel, 4), random_array(channel, 5)},
          "normalize " + name_of(s)};
}

TEST(Normalize, AgreesWithTheReference) {
  for (const Shape& s : kShapes) {
    expect_agrees(forward(s, 0), kBound);
    expect_agrees_in_bf16(forward(s, 0), 1, kBound);
  }
}

TEST(Normalize, KeepsItsPrecisionFarFromZero) {
  // Near 100 the step between f32 values is 2^-17; E[x²] - E[x]² in f32 would leave no correct
  // digit of a variance of 1/3. The mean, and y with it, may be off by half of that step.
  for (const Shape& s : kShapes) {
    expect_agrees(forward(s, 100), {.absolute = 4e-5, .relative = 4e-6});
  }
}

TEST(NormalizeInference, AgreesWithTheReference) {
  for (const Shape& s : kShapes) {
    Array variance = random_array({s.channels}, 5);
    for (std::int64_t c = 0; c < s.channels; ++c) variance.f32()[c] += 1.5F;
    const Dims channel{s.channels};
    const OpCase op_case{
        Op::NormalizeInference,
        {{"epsilon", 1e-5}},
        {random_array({s.batch, s.height, s.width, s.channels}, 1), random_array(channel, 2),
         random_array(channel, 3), random_array(channel, 4), variance},
        {},
        "normalize_inference " + name_of(s)};
    expect_agrees(op_case, kBound);
    expect_agrees_in_bf16(op_case, 1, kBound);
  }
}

OpCase backward(const Shape& s) {
  const OpCase before = forward(s, 0);
  const OpResult result = run_op(reference_table(), before, 1);
  return {Op::NormalizeBackward,
          {{"group", s.group}},
          {random_array(before.inputs[0].type.dims, 6), before.inputs[0], before.inputs[1],
           result.outputs[1], result.outputs[2]},
          {},
          "normalize_backward " + name_of(s)};
}

TEST(NormalizeBackward, AgreesWithTheReference) {
  for (const Shape& s : kShapes) {
    const Bound bound = sum_of(s.batch * s.height * s.width);  // dscale and dshift
    expect_agrees(backward(s), {bound.absolute + kBound.absolute, kBound.relative});
    expect_agrees_in_bf16(backward(s), 2, {bound.absolute + kBound.absolute, kBound.relative});
  }
}

TEST(Normalize, DealsGroupsSoThatSharesOfABatchComputeTheSameBits) {
  const Shape whole{4, 16, 16, 64, 2}, half{2, 16, 16, 64, 2};
  const OpCase all = forward(whole, 0);
  const Subject& subject = subjects().front();
  const OpResult expected = subject.run(all, 1);
  for (std::int64_t part = 0; part < 2; ++part) {
    OpCase share = forward(half, 0);
    const std::int64_t elements = share.inputs[0].type.elements();
    std::copy_n(all.inputs[0].f32() + part * elements, elements, share.inputs[0].f32());
    const OpResult actual = subject.run(share, 1);
    EXPECT_EQ(std::memcmp(actual.outputs[0].f32(), expected.outputs[0].f32() + part * elements,
                          static_cast<std::size_t>(actual.outputs[0].type.bytes())),
              0);
  }
}

}  // namespace
}  // namespace regatta::cpu::test
