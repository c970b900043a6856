// SPDX-License-Identifier: Apache-2.0
//
// Tests convolutions on the emulated queue and on a GPU: with the factory's choice, and with our
// own tiles.
#include "kernels/cpu/product_cases_for_test.h"
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/ops/convolution_paths.h"
#include "kernels/cuda/ops/products_for_test.h"

namespace regatta::cuda {
namespace {

using namespace cpu::test;
using namespace testing_support;
using Shape = cpu::test::ConvolutionShape;  // a kernel has its own

// One element; odd channels, odd and unequal sides, stride 2, no padding, a border that the stride
// leaves over, 1 x 1 and 5 x 5 windows; more channels than a tile; pixels divided among several
// blocks. Then groups: wide, narrow with several channels, depthwise, more than a line of threads.
// Last, windows of twelve numbers, which have a kernel of their own.
constexpr Shape kShapes[] = {
    {1, 1, 1, 1, 1, 1, 1, 0},    {2, 7, 9, 3, 5, 3, 1, 1},         {3, 8, 8, 5, 24, 3, 2, 1},
    {1, 9, 7, 24, 3, 3, 2, 0},   {2, 6, 6, 66, 24, 1, 1, 0},       {2, 11, 11, 3, 70, 5, 2, 2},
    {2, 5, 5, 24, 40, 2, 1, 0},  {9, 21, 17, 6, 10, 3, 1, 1},      {1, 7, 7, 40, 80, 3, 2, 1, 2},
    {2, 6, 5, 6, 4, 3, 1, 1, 2}, {3, 8, 8, 24, 24, 3, 2, 1, 24},   {5, 9, 8, 5, 5, 3, 2, 1, 5},
    {2, 8, 8, 3, 6, 3, 1, 0, 3}, {2, 20, 20, 33, 33, 3, 1, 1, 33}, {3, 31, 32, 3, 24, 2, 1, 0},
    {2, 9, 7, 3, 64, 2, 1, 1},   {5, 9, 8, 3, 8, 2, 2, 0},
};

KernelPointer by_factory(ConvolutionPass pass, const KernelRequest& request, EngineRule engines) {
  switch (pass) {
    case ConvolutionPass::Forward: return convolution(request, engines);
    case ConvolutionPass::BackwardData: return convolution_backward_data(request, engines);
    case ConvolutionPass::BackwardWeights: break;
  }
  return convolution_backward_weights(request, engines);
}

class Convolution : public testing_support::Products {
 protected:
  /// A gradient of weights from bf16 is f32 by our own kernels; cuDNN's is rounded to bf16.
  void expect_pass_agrees(ConvolutionPass pass) {
    const std::string why = "a test asks for it";
    for (const Shape& s : kShapes) {
      const auto [op_case, terms] = passes_of(s)[static_cast<std::size_t>(pass)];
      const Bound bound = sum_of(terms);
      const Bound own = pass == ConvolutionPass::BackwardWeights ? bound : rounded_to_bf16(bound);
      const auto factory = [=](EngineRule engines) -> Build {
        return [=](const KernelRequest& r) { return by_factory(pass, r, engines); };
      };
      const Build tiles = [=](const KernelRequest& r) { return convolution_tiles(pass, r, why); };
      const Bound library = queue().emulated() ? own : rounded_to_bf16(bound);
      expect_agrees(factory(EngineRule::Heuristic), op_case, bound, library);
      if (!queue().emulated()) {
        expect_agrees(factory(EngineRule::Timed), op_case, bound, library);
      }
      expect_agrees(tiles, op_case, bound, own);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(On, Convolution, kDevices, name_of_device);

TEST_P(Convolution, AgreesWithTheReference) { expect_pass_agrees(ConvolutionPass::Forward); }

TEST_P(Convolution, AgreesInTheGradientOfItsInput) {
  expect_pass_agrees(ConvolutionPass::BackwardData);
}

TEST_P(Convolution, AgreesInTheGradientOfItsWeights) {
  expect_pass_agrees(ConvolutionPass::BackwardWeights);
}

TEST_P(Convolution, SaysWhatWasChosen) {
  const auto choice_for = [this](const Shape& s, EngineRule engines = EngineRule::Heuristic) {
    run([=](const KernelRequest& r) { return convolution(r, engines); }, passes_of(s)[0].op);
    return choice();
  };
  EXPECT_EQ(choice_for({2, 7, 9, 3, 8, 2, 1, 1}), "own, direct, as windows are small");
  const Shape wide{2, 7, 9, 3, 5, 3, 1, 1};
  if (queue().emulated()) {
    EXPECT_EQ(choice_for(wide), "own tiles: the queue is emulated");
  } else if (why_no_cudnn().empty()) {
    EXPECT_EQ(choice_for(wide).find("cuDNN 9."), 0U) << choice();
    EXPECT_NE(choice().find(": engine "), std::string::npos) << choice();
    EXPECT_NE(choice().find("the heuristics' first that runs"), std::string::npos) << choice();
    const std::string timed = choice_for(wide, EngineRule::Timed);
    EXPECT_NE(timed.find(" ms"), std::string::npos) << timed;
    EXPECT_EQ(choice_for(wide, EngineRule::Timed), timed) << "it was tried again";
  } else {
    EXPECT_EQ(choice_for(wide), "own tiles: " + why_no_cudnn());
  }
}

}  // namespace
}  // namespace regatta::cuda
