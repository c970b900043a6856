// SPDX-License-Identifier: Apache-2.0
//
// Nodes marked for Winograd's algorithm, compared with the reference's direct sum. Its larger
// rounding is bounded as follows. A result of F(4, 3) is sum over k of A_ik (G g)_k (B d)_k, where
// each product errs relative to its size. With inputs of one variance, the variance of that error
// is sum over k of A_ik^2 |G_k|^2 |B_k|^2, that of a direct sum is 3. For gradients of weights,
// with tiles F(3, 4) by the same points, they are sum over k of A_ik^2 |G_k|^2 |B_k|^2 and 4. The
// largest quotients for the points 0, +-11/16, +-23/16 are 7.2 and 6.0 in one dimension; in two
// they are squared, and the root of that is the growth of the error. (For 0, +-1, +-2, as in Lavin
// & Gray 2015, arXiv:1509.09308, it is 31; Barabasz et al. 2018, arXiv:1803.10986, show that it
// depends on the points.) With bf16 images and weights, transforms and sums are still f32: a result
// is rounded once, like that of a direct sum.
#include "kernels/base/error.h"
#include "kernels/cpu/lacks_for_test.h"
#include "kernels/cpu/product_cases_for_test.h"
#include "kernels/rewrite/winograd.h"
#include "kernels/runtime/scratch.h"

namespace regatta::cpu::test {
namespace {

constexpr double kGrowth = 7.3;

Bound winograd_sum_of(std::int64_t terms) {
  Bound bound = sum_of(terms);
  bound.absolute *= kGrowth;
  return bound;
}

// One image smaller than a tile, unequal sides that tiles do not fill, channels that registers do
// not fill; then several blocks of images, also of unequal size, and one with many channels.
constexpr ConvolutionShape kShapes[] = {
    {1, 3, 2, 16, 16},   {2, 7, 9, 24, 40},   {3, 31, 31, 24, 64}, {43, 9, 7, 16, 32},
    {9, 32, 32, 32, 16}, {300, 3, 3, 32, 32}, {2, 4, 4, 256, 512}};

OpCase marked(const OpCase& op_case) {
  Node node{.op = op_case.op, .attributes = op_case.attributes};
  mark_for_winograd(node);
  OpCase result = op_case;
  result.attributes = node.attributes;
  result.name += " by Winograd's algorithm";
  return result;
}

TEST(Winograd, AgreesWithTheReferenceInAllPasses) {
  // The kernels share scratch memory, as in a lane, and must not rely on its contents: here, NaN.
  const Scratch::Scope lane;
  constexpr std::size_t kBytes = 64 << 20;
  Scratch::of_the_lane()->reserve(kBytes,
                                  [](std::byte* begin) { std::memset(begin, 0xFF, kBytes); });
  for (const ConvolutionShape& shape : kShapes) {
    for (const Product& pass : passes_of(shape)) {
      expect_agrees(marked(pass.op), winograd_sum_of(pass.terms));
    }
  }
}

TEST(Winograd, AgreesWithTheReferenceInBf16) {
  if (const std::string why = why_cpu_lacks(ElementType::BF16); !why.empty()) GTEST_SKIP() << why;
  for (const ConvolutionShape& shape : kShapes) {
    for (const Product& pass : passes_of(shape)) {
      expect_agrees_in_bf16(marked(pass.op), 2, winograd_sum_of(pass.terms));
    }
  }
}

TEST(ScratchOfALane, TellsEveryKernelWhereItsMemoryIsWhenItMoves) {
  Scratch scratch;
  std::byte *first = nullptr, *second = nullptr, *third = nullptr;
  scratch.reserve(64, [&first](std::byte* begin) { first = begin; });
  EXPECT_NE(first, nullptr);
  first = nullptr;  // it may move to where it was
  scratch.reserve(1 << 20, [&second](std::byte* begin) { second = begin; });
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(first, second);
  scratch.reserve(128, [&third](std::byte* begin) { third = begin; });
  EXPECT_EQ(third, second);
}

TEST(Winograd, GoesOnWhereALaterKernelOfItsLaneNeedsMoreMemory) {
  for (std::size_t pass = 0; pass < 3; ++pass) {
    const Scratch::Scope lane;
    const OpCase small = passes_of({2, 8, 8, 16, 32})[pass].op;
    BuiltOp first(cpu_table(), marked(small), 1);
    const std::size_t before = Scratch::of_the_lane()->bytes();
    BuiltOp second(cpu_table(), marked(passes_of({2, 8, 8, 128, 128})[pass].op), 1);
    ASSERT_GT(Scratch::of_the_lane()->bytes(), before);
    second.run({});
    first.run({});
    expect_close(first.outputs(), run_op(reference_table(), small, 1).outputs,
                 winograd_sum_of(9 * 2 * 8 * 8), small.name);
  }
}

TEST(Winograd, IsWhatComputesMarkedNodesAndNoOthers) {
  for (const Product& pass : passes_of({2, 8, 8, 64, 64})) {
    const OpCase direct = pass.op, winograd = marked(pass.op);
    const OpResult by_direct = run_op(cpu_table(), direct, 1);
    const OpResult by_winograd = run_op(cpu_table(), winograd, 1);
    const auto& bits = by_direct.outputs[0];
    EXPECT_NE(std::memcmp(bits.bytes.get(), by_winograd.outputs[0].bytes.get(),
                          static_cast<std::size_t>(bits.type.bytes())),
              0)
        << winograd.name;
    expect_agrees(direct, sum_of(pass.terms));
  }
}

TEST(Winograd, GivesEachImageTheSameBitsWhateverElseIsInItsBlock) {
  const ConvolutionShape all{300, 3, 3, 32, 32};  // two blocks
  const OpCase whole = marked(passes_of(all)[0].op);
  OpCase first = whole;
  first.inputs[0] = Array({ElementType::F32, {100, 3, 3, 32}});
  std::memcpy(first.inputs[0].bytes.get(), whole.inputs[0].bytes.get(),
              static_cast<std::size_t>(first.inputs[0].type.bytes()));
  const OpResult of_all = run_op(cpu_table(), whole, 1), of_first = run_op(cpu_table(), first, 1);
  EXPECT_EQ(std::memcmp(of_all.outputs[0].bytes.get(), of_first.outputs[0].bytes.get(),
                        static_cast<std::size_t>(of_first.outputs[0].type.bytes())),
            0);
}

}  // namespace
}  // namespace regatta::cpu::test
