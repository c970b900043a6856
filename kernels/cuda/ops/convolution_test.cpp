// SPDX-License-Identifier: Apache-2.0
//
// Tests convolutions on the emulated queue and on a GPU: with the factory's choice, and with our
// own tiles.
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/ops/convolution_paths.h"
#include "kernels/cuda/ops/products_for_test.h"

namespace regatta::cuda {
namespace {

using namespace cpu::test;
using namespace testing_support;

struct Shape {
  std::int64_t batch, height, width, inputs, outputs;
  std::int64_t kernel, stride, padding;
  std::int64_t groups = 1;
  std::int64_t side(std::int64_t n) const { return (n + 2 * padding - kernel) / stride + 1; }
};

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

std::string name_of(const Shape& s) {
  return std::to_string(s.batch) + "x" + std::to_string(s.height) + "x" + std::to_string(s.width) +
         " " + std::to_string(s.inputs) + " -> " + std::to_string(s.outputs) + " kernel " +
         std::to_string(s.kernel) + " stride " + std::to_string(s.stride) + " padding " +
         std::to_string(s.padding) + " groups " + std::to_string(s.groups);
}

Array x_of(const Shape& s) { return random_array({s.batch, s.height, s.width, s.inputs}, 1); }
Array w_of(const Shape& s) {
  return random_array({s.outputs, s.kernel, s.kernel, s.inputs / s.groups}, 2);
}
Array dy_of(const Shape& s) {
  return random_array({s.batch, s.side(s.height), s.side(s.width), s.outputs}, 3);
}

OpCase case_of(ConvolutionPass pass, const Shape& s) {
  Attributes attributes{{"kernel", s.kernel}, {"stride", s.stride}, {"padding", s.padding}};
  if (s.groups != 1) attributes.set("groups", s.groups);
  switch (pass) {
    case ConvolutionPass::Forward: break;
    case ConvolutionPass::BackwardData:
      attributes.set("dims", x_of(s).type.dims);
      attributes.set("images", std::int64_t{1});
      return {Op::ConvolutionBackwardData,
              attributes,
              {dy_of(s), w_of(s)},
              {},
              "backward data " + name_of(s)};
    case ConvolutionPass::BackwardWeights:
      attributes.set("dims", w_of(s).type.dims);
      return {Op::ConvolutionBackwardWeights,
              attributes,
              {dy_of(s), x_of(s)},
              {},
              "backward weights " + name_of(s)};
  }
  return {Op::Convolution, attributes, {x_of(s), w_of(s)}, {}, "convolution " + name_of(s)};
}

/// The rounding error of a result's sum.
Bound bound_of(ConvolutionPass pass, const Shape& s) {
  const std::int64_t taps = s.kernel * s.kernel;
  switch (pass) {
    case ConvolutionPass::Forward: return sum_of(taps * s.inputs / s.groups);
    case ConvolutionPass::BackwardData: return sum_of(taps * s.outputs / s.groups);
    case ConvolutionPass::BackwardWeights: break;
  }
  return sum_of(s.batch * s.side(s.height) * s.side(s.width));
}

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
      const OpCase op_case = case_of(pass, s);
      const Bound bound = bound_of(pass, s);
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
    run([=](const KernelRequest& r) { return convolution(r, engines); },
        case_of(ConvolutionPass::Forward, s));
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
