// SPDX-License-Identifier: Apache-2.0
//
// The reference kernels against numbers worked out by hand from the literature's formulas.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "kernels/base/error_for_test.h"
#include "kernels/reference/bf16.h"
#include "kernels/reference/reference_kernels.h"
#include "kernels/reference/test_support.h"

namespace regatta::reference {
namespace {

using regatta::testing_support::error_of;
using namespace test;
using Floats = std::vector<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(ReferenceKernels, ComputeEveryOpThatIsNeitherInputNorViewNorCollective) {
  KernelTable table("reference");
  add_reference_kernels(table);
  const std::set<Op> left_out{Op::Input,  Op::Reshape,       Op::Slice,     Op::Send,
                              Op::Sent,   Op::Receive,       Op::AllReduce, Op::Arrival,
                              Op::Quorum, Op::ReduceScatter, Op::AllGather};
  for (const OpInfo& info : all_ops()) {
    EXPECT_NE(table.has(info.op), left_out.contains(info.op)) << info.name;
  }
}

TEST(ReferenceKernels, RefuseBf16WhereTheLoopsAreF32) {
  Graph graph;
  Builder builder(graph);
  builder.relu(builder.cast(leaf(builder, "x", {2}), ElementType::BF16));
  const std::string error =
      error_of([&] { Interpreter interpreter(graph, 0); }, ErrorKind::Unsupported);
}

TEST(Dense, MultipliesByTheTransposeOfItsWeights) {
  Net net;
  const Value x = net.leaf({2, 2}, {1, 2, 3, 4});
  const Value y = net.builder.dense(x, net.leaf({3, 2}, {1, 0, 0, 1, 10, 100}));
  EXPECT_EQ(net.elements(y), (Floats{1, 2, 210, 3, 4, 430}));
}

TEST(Convolution, SumsTheWindowAndTakesZerosOutside) {
  Net net;
  const Value x = net.leaf({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Value ones = net.leaf({1, 2, 2, 1}, {1, 1, 1, 1});
  const Value inside = net.builder.convolution(x, ones, {.kernel = 2});
  const Value padded = net.builder.convolution(x, ones, {.kernel = 2, .stride = 2, .padding = 1});
  EXPECT_EQ(net.elements(inside), (Floats{12, 16, 24, 28}));
  EXPECT_EQ(net.elements(padded), (Floats{1, 5, 11, 28}));
}

// Two groups of one input and two outputs each, windows of one pixel: y = (w0 x0, w1 x0, w2 x1, w3
// x1).
TEST(Convolution, ReadsTheInputsOfItsGroupOnly) {
  Net net;
  const Value x = net.leaf({1, 1, 2, 2}, {1, 2, 3, 4});
  const Value weights = net.leaf({4, 1, 1, 1}, {1, 10, 100, 1000});
  const Value y = net.builder.convolution(x, weights, {.kernel = 1}, 2);
  EXPECT_EQ(net.elements(y), (Floats{1, 10, 200, 2000, 3, 30, 400, 4000}));
}

// Convolution is correlation, as in every framework: no mirrored kernel. Channels vary fastest.
TEST(Convolution, DoesNotMirrorTheKernelAndMixesChannels) {
  Net net;
  Floats weights(16, 0);
  weights[0] = 1;   // output 0: top left pixel, channel 0 ...
  weights[7] = 10;  // ... and bottom right pixel, channel 1
  weights[10] = 1;  // output 1: top right pixel, channel 0
  const Value x = net.leaf({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Value y = net.builder.convolution(x, net.leaf({2, 2, 2, 2}, weights), {.kernel = 2});
  EXPECT_EQ(net.elements(y), (Floats{81, 3}));
}

TEST(Gelu, IsXTimesTheNormalDistribution) {
  Net net;
  const Value y = net.builder.gelu(net.leaf({4}, {0, 1, -1, 10}));
  expect_near(net.elements(y), {0, 0.8413447F, -0.1586553F, 10});
}

TEST(Relu, KeepsANaNSoThatADivergedRunIsSeen) {
  Net net;
  const Floats y = net.elements(net.builder.relu(net.leaf({3}, {-1, 2, kNaN})));
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 2);
  EXPECT_TRUE(std::isnan(y[2]));
}

TEST(Sum, OfThreeTimesAThirdIsTheMean) {
  Net net;
  const Value y = net.builder.sum(
      {net.leaf({2}, {1, 10}), net.leaf({2}, {2, 20}), net.leaf({2}, {6, 60})}, 1.0 / 3);
  expect_near(net.elements(y), {3, 30});
}

TEST(MaxPool, RemembersTheFirstOfEqualsAndNeverPicksThePadding) {
  Net net;
  // Padded by one pixel: windows see {-1}, {-3, -2}, {-4}, {-4, -4}.
  const Value x = net.leaf({1, 2, 3, 1}, {-1, -3, -2, -4, -4, -4});
  const Value y = net.builder.max_pool(x, {.kernel = 2, .stride = 2, .padding = 1});
  EXPECT_EQ(net.elements(y), (Floats{-1, -2, -4, -4}));
  const auto* index = net.tensor({y.node, 1}).as<std::uint8_t>();
  EXPECT_EQ((std::vector<int>(index, index + 4)), (std::vector<int>{3, 3, 1, 0}));
}

TEST(AveragePool, CountsPixelsOutsideTheImageAsZeros) {
  Net net;
  const Value x = net.leaf({1, 2, 2, 1}, {4, 8, 12, 16});
  const Value y = net.builder.average_pool(x, {.kernel = 2, .stride = 1, .padding = 1});
  EXPECT_EQ(net.elements(y), (Floats{1, 3, 2, 4, 10, 6, 3, 7, 4}));
}

struct NormalizeGraph {
  Graph graph;
  Value y;
  VariableId mean = -1;
  VariableId variance = -1;

  explicit NormalizeGraph(const test::Dims& dims, std::int64_t group) {
    Builder builder(graph);
    const Value x = leaf(builder, "x", dims);
    const Value scale = leaf(builder, "scale", {dims.back()});
    const Value shift = leaf(builder, "shift", {dims.back()});
    mean = test::add_variable(graph, "mean", {dims.back()});
    variance = test::add_variable(graph, "variance", {dims.back()});
    y = builder.normalize(x, scale, shift, mean, variance,
                          {.group = group, .epsilon = 1e-5, .momentum = 0.1});
  }
};

// Groups (1, 3) and (2, 6): means 2 and 4, variances 1 and 4, unbiased (times 2 / 1) 2 and 8.
TEST(Normalize, TakesStatisticsOverGroupsAndKeepsTheUnbiasedVariance) {
  NormalizeGraph net({4, 1, 1, 1}, 2);
  Interpreter interpreter(
      net.graph, 0,
      {{"x", {1, 3, 2, 6}}, {"scale", {3}}, {"shift", {10}}, {"mean", {0}}, {"variance", {1}}});
  interpreter.run_all({});
  const auto one = static_cast<float>(3 / std::sqrt(1 + 1e-5));
  const auto two = static_cast<float>(3 * 2 / std::sqrt(4 + 1e-5));
  expect_near(elements(interpreter, net.y), {10 - one, 10 + one, 10 - two, 10 + two});
  expect_near(elements(interpreter, {net.y.node, 1}), {2, 4});
  expect_near(elements(interpreter, {net.y.node, 2}), {one / 3, two / 6});
  EXPECT_FLOAT_EQ(*interpreter.variable(net.mean), 0.1F * 3);
  EXPECT_FLOAT_EQ(*interpreter.variable(net.variance), 0.9F + 0.1F * 5);
}

// Three groups divided between two replicas as 2 and 1, for three steps. Running statistics average
// to those of one replica with all data if weighted by the replicas' groups, but not if equally.
TEST(Normalize, RunningStatisticsOfSharesAverageToThoseOfTheWhole) {
  NormalizeGraph whole({6, 2, 1, 1}, 2), large({4, 2, 1, 1}, 2), small({2, 2, 1, 1}, 2);
  const InitialValues start{{"scale", {1}}, {"shift", {0}}, {"mean", {0.5F}}, {"variance", {2}}};
  Interpreter one(whole.graph, 0, start), first(large.graph, 0, start),
      second(small.graph, 0, start);
  const auto x_of = [](Interpreter& interpreter) { return interpreter.variable(0); };
  for (int step = 0; step < 3; ++step) {
    for (int i = 0; i < 12; ++i) {
      const auto x = static_cast<float>((i * 7 + step * 5) % 11) - 3;
      x_of(one)[i] = x;
      (i < 8 ? x_of(first)[i] : x_of(second)[i - 8]) = x;
    }
    for (Interpreter* interpreter : {&one, &first, &second}) interpreter->run_all({});
  }
  for (VariableId statistic : {whole.mean, whole.variance}) {
    const float a = *first.variable(statistic), b = *second.variable(statistic);
    EXPECT_NEAR((2 * a + b) / 3, *one.variable(statistic), 1e-6);
    EXPECT_GT(std::abs((a + b) / 2 - *one.variable(statistic)), 1e-3);
  }
  Floats shares = elements(first, large.y);
  const Floats rest = elements(second, small.y);
  shares.insert(shares.end(), rest.begin(), rest.end());
  EXPECT_EQ(shares, elements(one, whole.y));
}

TEST(NormalizeInference, UsesTheRunningStatistics) {
  Net net;
  const Value x = net.leaf({1, 1, 2, 2}, {1, 2, 3, 4});
  const Value scale = net.leaf({2}, {1, 10}), shift = net.leaf({2}, {0, 5});
  const Value mean = net.leaf({2}, {1, 2}), variance = net.leaf({2}, {3, 0});
  const Value y = net.builder.normalize_inference(x, scale, shift, mean, variance, 1);
  expect_near(net.elements(y), {0, 5, 1, 25});
}

// p = (1/4, 3/4), t = (0.1, 0.9): -0.1 ln(1/4) - 0.9 ln(3/4) = 0.3975433.
TEST(SoftmaxCrossEntropy, SpreadsTheSmoothingOverAllClasses) {
  Net net;
  const Value labels = net.labels({1});
  const Attributes attributes{{"label_smoothing", 0.2},
                              {"divisor", std::int64_t{2}},
                              {"element", static_cast<std::int64_t>(ElementType::F32)}};
  const Value loss = net.builder.softmax_cross_entropy(
      net.leaf({1, 2}, {0, std::log(3.0F)}), labels, {.label_smoothing = 0.2, .divisor = 2});
  const Value backward =
      net.builder.node(Op::SoftmaxCrossEntropyBackward, {{loss.node, 1}, labels}, attributes);
  EXPECT_NEAR(net.elements(loss)[0], 0.3975433F / 2, 1e-6);
  expect_near(net.elements({loss.node, 1}), {0.25F, 0.75F});
  expect_near(net.elements(backward), {0.075F, -0.075F});
}

TEST(SoftmaxCrossEntropy, StaysFiniteForLargeLogits) {
  Net net;
  const Value labels = net.labels({1, 0}), logits = net.leaf({2, 2}, {1000, 0, 0, -1000});
  EXPECT_EQ(net.elements(net.builder.softmax_cross_entropy(logits, labels, {})), Floats{1000});
}

TEST(Swiglu, GatesTheSecondHalfOfEachRow) {
  Net net;
  const Value y = net.builder.swiglu(net.leaf({2, 2}, {1, 2, -1, 3}));
  expect_near(net.elements(y), {1.4621172F, -0.8068243F});
}

TEST(LayerNormalize, SubtractsTheMeanOnlyIfCentered) {
  Net net;
  const Value x = net.leaf({1, 4}, {1, 2, 3, 4}), gain = net.leaf({4}, {1, 1, 1, 10});
  const Value y = net.builder.layer_normalize(x, gain, {.epsilon = 0});
  const Value rms = net.builder.layer_normalize(
      x, gain, {.center = LayerNormalization::Center::None, .epsilon = 0});
  // Deviation sqrt(5 / 4); root of the mean square sqrt(30 / 4).
  expect_near(net.elements(y), {-1.3416408F, -0.4472136F, 0.4472136F, 13.416408F});
  expect_near(net.elements(rms), {0.3651484F, 0.7302967F, 1.0954451F, 14.605935F});
}

// One head of four channels: at token t, channels (0, 2) are rotated by t, (1, 3) by t / 10.
TEST(Rotary, RotatesQueriesAndKeysByTheirPosition) {
  const Floats token{1, 2, 3, 4, 4, 3, 2, 1, 5, 6, 7, 8};
  Floats x = token;
  x.insert(x.end(), token.begin(), token.end());
  Net net;
  const Value y = net.builder.rotary(net.leaf({1, 2, 12}, x), 1, 100);
  Floats expected = token;
  for (int at : {12, 16}) {
    const float cos0 = std::cos(1.0F), sin0 = std::sin(1.0F);
    const float cos1 = std::cos(0.1F), sin1 = std::sin(0.1F);
    const float* q = x.data() + at;
    expected.insert(expected.end(), {q[0] * cos0 - q[2] * sin0, q[1] * cos1 - q[3] * sin1,
                                     q[2] * cos0 + q[0] * sin0, q[3] * cos1 + q[1] * sin1});
  }
  expected.insert(expected.end(), {5, 6, 7, 8});
  expect_near(net.elements(y), expected);
}

TEST(ClipDivisor, IsOneUpToTheLimit) {
  Net net;
  const Value norm = net.builder.squared_norm({net.leaf({1}, {3}), net.leaf({1, 1}, {-4})});
  const Value clipped = net.builder.clip_divisor(norm, 2);
  const Value kept = net.builder.clip_divisor(norm, 5.1);
  EXPECT_EQ(net.elements(norm), Floats{25});
  expect_near(net.elements(clipped), {2.5F});
  EXPECT_EQ(net.elements(kept), Floats{1});
}

TEST(MeanSquaredError, IsTheMeanOverOutputsAndTheSumOverExamples) {
  Net net;
  const Value prediction = net.leaf({2, 2}, {1, 2, 3, 4}), target = net.leaf({2, 2}, {0, 0, 0, 0});
  const Value loss = net.builder.mean_squared_error(prediction, target, 4);
  EXPECT_FLOAT_EQ(net.elements(loss)[0], (2.5F + 12.5F) / 4);
}

TEST(CountCorrect, AnswersWithTheFirstOfEqualsAndCountsNoNaN) {
  Net net;
  const Value labels = net.labels({1, 1, 0, 1, 0});
  const Value logits = net.leaf({5, 3}, {0, 2, 1,  // right
                                         2, 0, 1,  // wrong
                                         1, 1, 0,  // the first of equals is right ...
                                         1, 1, 0,  // ... the second is wrong
                                         kNaN, kNaN, kNaN});
  EXPECT_EQ(net.elements(net.builder.count_correct(logits, labels)), Floats{2});
}

std::uint16_t rounded(std::uint32_t bits) { return reference::to_bf16(std::bit_cast<float>(bits)); }

TEST(Bf16, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(rounded(0x3F800000), 0x3F80);  // 1 is itself
  EXPECT_EQ(rounded(0x3F807FFF), 0x3F80);  // below the middle
  EXPECT_EQ(rounded(0x3F808000), 0x3F80);  // a tie, down to even
  EXPECT_EQ(rounded(0x3F808001), 0x3F81);  // above the middle
  EXPECT_EQ(rounded(0x3F818000), 0x3F82);  // a tie, up to even
  EXPECT_EQ(rounded(0x3FFF8000), 0x4000);  // carries into the exponent
  EXPECT_EQ(rounded(0xBF818000), 0xBF82);  // by magnitude
}

TEST(Bf16, KeepsZerosInfinitiesAndNaNs) {
  EXPECT_EQ(reference::to_bf16(-0.0F), 0x8000);
  EXPECT_EQ(reference::to_bf16(kInfinity), 0x7F80);
  EXPECT_EQ(reference::to_bf16(-kInfinity), 0xFF80);
  EXPECT_EQ(reference::to_bf16(std::numeric_limits<float>::max()), 0x7F80);
  // NaNs with a payload in the bits that are cut off, or that rounding would carry over.
  for (std::uint32_t bits : {0x7F800001U, 0x7FFFFFFFU, 0xFFFFFFFFU, 0x7FC00000U}) {
    EXPECT_TRUE(std::isnan(reference::from_bf16(rounded(bits)))) << std::hex << bits;
  }
}

TEST(Cast, ToBf16AndBackKeepsEightBitsOfMantissa) {
  Net net;
  const Value x = net.leaf({3}, {1.00390625F, 3.140625F, -256.9F});
  const Value narrow = net.builder.cast(x, ElementType::BF16);
  const Value back = net.builder.cast(narrow, ElementType::F32);
  EXPECT_EQ(net.tensor(narrow).as<std::uint16_t>()[0], 0x3F80);
  EXPECT_EQ(net.elements(back), (Floats{1, 3.140625F, -256}));
}

}  // namespace
}  // namespace regatta::reference
