// SPDX-License-Identifier: Apache-2.0
//
// Fused ops compared with the reference's chains of single ops, for every device that has kernels
// (test_support.h).
#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cpu/test_support.h"
#include "kernels/graph/fusion.h"

namespace regatta::cpu::test {
namespace {

using Activation = Fusion::Activation;
using Pool = Fusion::Pool;

struct Shape {
  std::int64_t batch, height, width, channels;
  std::int64_t group;
};

// Odd sides (the last row or column is left over), channels that fill registers or do not, numbers
// of groups that the threads divide or do not, on both sides of the limit for threads.
constexpr Shape kShapes[] = {{1, 5, 4, 1, 1},    {2, 7, 5, 3, 1},   {6, 3, 3, 24, 2},
                             {4, 15, 15, 64, 2}, {5, 9, 12, 64, 5}, {3, 13, 13, 65, 1},
                             {4, 9, 9, 130, 4}};
// Large enough for several threads, which divide groups in the same way for every activation.
constexpr Shape kLarge{6, 31, 31, 24, 2};

constexpr Fusion kFusions[] = {
    {Activation::Relu, Pool::None, 1},   {Activation::Gelu, Pool::None, 1},
    {Activation::None, Pool::Before, 2}, {Activation::Gelu, Pool::Before, 2},
    {Activation::Relu, Pool::Before, 3}, {Activation::None, Pool::After, 2},
    {Activation::Relu, Pool::After, 2},  {Activation::Gelu, Pool::After, 3}};

std::string name_of(const Shape& s, const Fusion& fusion) {
  Attributes attributes;
  set_fusion(attributes, fusion);
  return std::to_string(s.batch) + "x" + std::to_string(s.height) + "x" + std::to_string(s.width) +
         "x" + std::to_string(s.channels) + " in groups of " + std::to_string(s.group) + ", " +
         to_string(attributes);
}

bool allowed(const Shape& s, const Fusion& fusion) {
  const std::int64_t rows = fusion.pool == Pool::Before
                                ? (s.height / fusion.window) * (s.width / fusion.window)
                                : s.height * s.width;
  return std::min(s.height, s.width) >= fusion.window && s.group * rows > 1;
}

std::vector<std::pair<Shape, Fusion>> cases() {
  std::vector<std::pair<Shape, Fusion>> all;
  for (const Shape& s : kShapes) {
    for (const Fusion& fusion : kFusions) {
      if (allowed(s, fusion)) all.emplace_back(s, fusion);
    }
  }
  for (const Pool pool : {Pool::None, Pool::Before, Pool::After}) {
    all.emplace_back(kLarge, Fusion{Activation::Gelu, pool, pool == Pool::None ? 1 : 2});
  }
  return all;
}

/// Values that are distinct in each window: at a near tie, bf16 and f32 would pick differently.
Array distinct_array(const Shape& s, unsigned seed) {
  Array array = random_array({s.batch, s.height, s.width, s.channels}, seed);
  for (std::int64_t i = 0; i < array.type.elements(); ++i) {
    const std::int64_t pixel = i / s.channels;
    const std::int64_t h = pixel / s.width % s.height, w = pixel % s.width;
    const auto step = static_cast<float>((h % 3) * 3 + w % 3 + 1);
    // A multiple of 1/2 by position in the window, plus noise below 1/4.
    array.f32()[i] = std::floor(array.f32()[i] * 16) / 64 + 0.5F * std::fmod(step * 4, 9.0F) - 2;
  }
  return array;
}

OpCase forward(const Shape& s, const Fusion& fusion, bool residual) {
  const Dims channel{s.channels};
  OpCase op_case{Op::FusedNormalize,
                 {{"group", s.group}, {"epsilon", 1e-5}, {"momentum", 0.1}},
                 {distinct_array(s, 1), random_array(channel, 2), random_array(channel, 3)},
                 {random_array(channel, 4), random_array(channel, 5)},
                 "fused_normalize " + name_of(s, fusion)};
  set_fusion(op_case.attributes, fusion);
  if (residual) {
    const bool pooled = fusion.pool == Pool::Before;
    op_case.inputs.push_back(random_array({s.batch, pooled ? s.height / fusion.window : s.height,
                                           pooled ? s.width / fusion.window : s.width, s.channels},
                                          6));
  }
  return op_case;
}

// y is at most a few deviations of 1 from the mean.
constexpr Bound kBound{.absolute = 8e-6, .relative = 4e-6};
/// The additional error of activation_function.h's short polynomials in bf16.
constexpr double kShort = 1e-4;

/// Compares the op with bf16 in the inputs `halved` with the same in f32: y and dx are rounded, the
/// statistics are not, and positions are the same.
void expect_agrees_if_halved(const OpCase& op_case, const std::vector<std::size_t>& halved,
                             const Bound& bound) {
  const OpResult expected = run_op(reference_table(), op_case, 1);
  OpCase half = op_case;
  for (std::size_t i : halved) half.inputs[i] = to_bf16(op_case.inputs[i]);
  for (const Subject& subject : subjects()) {
    const std::string what = op_case.name + " in bf16" + subject.name;
    const OpResult actual = subject.run(half, 1);
    expect_close(actual.outputs, expected.outputs, rounded_to_bf16(bound), what);
    expect_close(actual.variables, expected.variables, bound, what);
  }
}

TEST(FusedNormalize, AgreesWithTheReference) {
  for (const auto& [s, fusion] : cases()) {
    const OpCase op_case = forward(s, fusion, false);
    expect_agrees(op_case, kBound);
    if (fusion.pool == Pool::After) continue;  // y in bf16 has ties that f32 does not have
    expect_agrees_if_halved(op_case, {0}, {kBound.absolute + kShort, kBound.relative});
  }
}

TEST(FusedNormalize, AddsAResidual) {
  for (const auto& [s, fusion] : cases()) {
    if (fusion.pool == Pool::After) continue;
    const OpCase op_case = forward(s, fusion, true);
    expect_agrees(op_case, kBound);
    expect_agrees_if_halved(op_case, {0, 3}, {kBound.absolute + kShort, kBound.relative});
  }
}

/// A case of the backward op, with statistics and positions from the reference's forward op.
OpCase backward(const Shape& s, const Fusion& fusion) {
  const OpCase before = forward(s, fusion, false);
  const OpResult result = run_op(reference_table(), before, 1);
  const bool pooled = fusion.pool != Pool::None;
  OpCase op_case{
      Op::FusedNormalizeBackward,
      {{"group", s.group}},
      {random_array(result.outputs[0].type.dims, 7), pooled ? result.outputs[3] : before.inputs[0],
       before.inputs[1], before.inputs[2], result.outputs[1], result.outputs[2]},
      {},
      "fused_normalize_backward " + name_of(s, fusion)};
  set_fusion(op_case.attributes, fusion);
  if (pooled) {
    op_case.attributes.set("dims", before.inputs[0].type.dims);
    op_case.inputs.push_back(result.outputs[4]);
  }
  if (fusion.pool == Pool::After) op_case.inputs.push_back(before.inputs[0]);
  return op_case;
}

TEST(FusedNormalizeBackward, AgreesWithTheReference) {
  for (const auto& [s, fusion] : cases()) {
    const OpCase op_case = backward(s, fusion);
    const Bound sums = sum_of(s.batch * s.height * s.width);  // dscale and dshift
    // If a group has only one pixel, deviations are sqrt(epsilon) and dx is large.
    const Bound bound{16 * sums.absolute + kBound.absolute, 16 * kBound.relative};
    expect_agrees(op_case, bound);
    std::vector<std::size_t> halved{0, 1};
    if (fusion.pool == Pool::After) halved.push_back(7);
    const double terms = static_cast<double>(s.batch * s.height * s.width);
    expect_agrees_if_halved(op_case, halved,
                            {bound.absolute + kShort * std::sqrt(terms), bound.relative});
  }
}

TEST(FusedNormalizeInference, AgreesWithTheReference) {
  for (const auto& [s, fusion] : cases()) {
    for (bool residual : {false, true}) {
      if (residual && fusion.pool == Pool::After) continue;
      OpCase op_case = forward(s, fusion, residual);
      op_case.op = Op::FusedNormalizeInference;
      for (std::int64_t c = 0; c < s.channels; ++c) op_case.variables[1].f32()[c] += 1.5F;
      op_case.inputs.insert(op_case.inputs.begin() + 3, op_case.variables.begin(),
                            op_case.variables.end());
      op_case.variables.clear();
      expect_agrees(op_case, kBound);
      std::vector<std::size_t> halved{0};
      if (residual) halved.push_back(5);
      expect_agrees_if_halved(op_case, halved, {kBound.absolute + kShort, kBound.relative});
    }
  }
}

TEST(FusedNormalize, PicksTheFirstOfEqualsLikeMaxPool) {
  const Shape s{2, 5, 5, 24, 1};
  for (ElementType element : {ElementType::F32, ElementType::BF16}) {
    for (Pool pool : {Pool::Before, Pool::After}) {
      OpCase op_case = forward(s, {Activation::Relu, pool, 2}, false);
      // Few distinct values; a scale of 1 and a shift of -1/2 make many results zero.
      for (std::int64_t i = 0; i < op_case.inputs[0].type.elements(); ++i) {
        op_case.inputs[0].f32()[i] = static_cast<float>(i * 7 % 5 / 2);
      }
      for (std::int64_t c = 0; c < s.channels; ++c) {
        op_case.inputs[1].f32()[c] = 1;
        op_case.inputs[2].f32()[c] = -0.5F;
      }
      const OpResult expected = run_op(reference_table(), op_case, 1);
      if (element == ElementType::BF16) op_case.inputs[0] = to_bf16(op_case.inputs[0]);
      for (const Subject& subject : subjects()) {
        const OpResult actual = subject.run(op_case, 1);
        expect_close({actual.outputs[3], actual.outputs[4]},
                     {expected.outputs[3], expected.outputs[4]}, {},
                     "picked and positions" + subject.name);
      }
    }
  }
}

TEST(FusedNormalize, DealsGroupsSoThatSharesOfABatchComputeTheSameBits) {
  const Fusion fusion{Activation::Gelu, Pool::Before, 2};
  const OpCase all = forward({4, 15, 15, 64, 2}, fusion, false);
  const Subject& subject = subjects().front();
  const OpResult expected = subject.run(all, 1);
  for (std::int64_t part = 0; part < 2; ++part) {
    OpCase share = forward({2, 15, 15, 64, 2}, fusion, false);
    const std::int64_t elements = share.inputs[0].type.elements();
    std::copy_n(all.inputs[0].f32() + part * elements, elements, share.inputs[0].f32());
    const OpResult actual = subject.run(share, 1);
    EXPECT_EQ(std::memcmp(actual.outputs[0].f32(),
                          expected.outputs[0].f32() + part * actual.outputs[0].type.elements(),
                          static_cast<std::size_t>(actual.outputs[0].type.bytes())),
              0);
  }
}

TEST(FusedBias, AgreesWithTheReference) {
  for (const Dims& dims : {Dims{1, 1}, Dims{50, 5}, Dims{3, 5, 5, 24}, Dims{4, 20, 20, 65}}) {
    for (const char* activation : {"relu", "gelu"}) {
      const Attributes attributes{{"activation", std::string(activation)}};
      const Array x = random_array(dims, 1), b = random_array({dims.back()}, 2);
      const OpCase op_case{Op::FusedBias, attributes, {x, b}, {}, "fused_bias"};
      expect_agrees(op_case, kBound);
      expect_agrees_if_halved(op_case, {0}, {kBound.absolute + kShort, kBound.relative});
      for (std::int64_t data : {0, 1}) {
        OpCase backward{Op::FusedBiasBackward,
                        {{"data", data}, {"activation", std::string(activation)}},
                        {random_array(dims, 3), x, b},
                        {},
                        "fused_bias_backward"};
        const Bound bound = sum_of(x.type.elements() / dims.back());
        expect_agrees(backward, {bound.absolute + kBound.absolute, bound.relative});
        expect_agrees_if_halved(backward, {0, 1}, {16 * bound.absolute + 10 * kShort, 1e-5});
      }
    }
  }
}

}  // namespace
}  // namespace regatta::cpu::test
