// SPDX-License-Identifier: Apache-2.0
//
// Tests that cuDNN accepts our graphs and has engines for them, on an H100 described by its
// properties: needs the library but no GPU.
#include "kernels/cuda/library/cudnn_graph.h"

#include <gtest/gtest.h>

#include <array>

#include "kernels/base/error_for_test.h"
#include "kernels/cuda/library/h100_for_test.h"

namespace regatta::cuda {
namespace {

ConvolutionShape shape(int batch, int side, int inputs, int outputs, int kernel, int stride,
                       int padding, int groups) {
  const int rows = (side + 2 * padding - kernel) / stride + 1;
  return {.batch = batch,
          .height = side,
          .width = side,
          .inputs = inputs,
          .rows = rows,
          .columns = rows,
          .outputs = outputs,
          .kernel = kernel,
          .stride = stride,
          .padding = padding,
          .groups = groups,
          .group_inputs = inputs / groups,
          .group_outputs = outputs / groups};
}

class CudnnGraph : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_cudnn().empty()) GTEST_SKIP() << why_no_cudnn();
    properties_.emplace(testing_support::h100());
  }
  PlanTarget target() const { return {.handle = nullptr, .properties = &*properties_}; }

 private:
  std::optional<Descriptor> properties_;
};

constexpr std::array kPasses{ConvolutionPass::Forward, ConvolutionPass::BackwardData,
                             ConvolutionPass::BackwardWeights};

TEST_F(CudnnGraph, HasAnEngineForEveryPassThatRunsWhatWasAskedFor) {
  // First layer, middle layer, odd channels, wide group, depthwise.
  const std::array shapes{shape(512, 31, 3, 24, 2, 1, 0, 1), shape(512, 15, 64, 256, 3, 1, 1, 1),
                          shape(2, 9, 3, 5, 3, 2, 1, 1), shape(8, 14, 64, 64, 3, 2, 1, 2),
                          shape(64, 16, 144, 144, 3, 1, 1, 144)};
  for (const ConvolutionShape& each : shapes) {
    for (const ElementType element : {ElementType::F32, ElementType::BF16}) {
      for (const ConvolutionPass pass : kPasses) {
        const auto graph = convolution_graph(pass, each, element, target());
        const auto engines = engines_for(graph.back(), element, target(), 3);
        int plans = 0;
        for (const EngineConfiguration& engine : engines) {
          const std::optional<Descriptor> plan = plan_of(engine, target());
          if (!plan) continue;
          ++plans;
          EXPECT_GE(workspace_bytes_of(*plan), 0);
        }
        EXPECT_GT(plans, 0) << each.inputs << " -> " << each.outputs << ' ' << to_string(element)
                            << " pass " << static_cast<int>(pass);
      }
    }
  }
}

TEST_F(CudnnGraph, TakesTheAddressesOfThreeTensorsAndAWorkspace) {
  std::array<char, 64> memory{};
  EXPECT_NO_THROW(variant_pack({&memory[0], &memory[16], &memory[32], &memory[48]}));
}

TEST_F(CudnnGraph, QuotesTheLibraryWhereItRefuses) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const std::string error =
      regatta::testing_support::error_of([&] { tensor.finalize(); }, ErrorKind::Device);
  EXPECT_NE(error.find("CUDNN_STATUS_"), std::string::npos) << error;
}

TEST(CudnnNotes, KeepF32F32AndSumsInOrder) {
  using Notes = std::vector<cudnnBackendNumericalNote_t>;
  const Notes none, tensor_cores{CUDNN_NUMERICAL_NOTE_TENSOR_CORE},
      any_order{CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC},
      short_sums{CUDNN_NUMERICAL_NOTE_TENSOR_CORE,
                 CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION},
      shorter{CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS},
      strict{CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP};
  for (const ElementType element : {ElementType::F32, ElementType::BF16}) {
    EXPECT_TRUE(takes_notes(none, element));
    EXPECT_TRUE(takes_notes(strict, element));
    EXPECT_FALSE(takes_notes(any_order, element));
    EXPECT_FALSE(takes_notes(short_sums, element));
    EXPECT_FALSE(takes_notes(shorter, element));
    EXPECT_EQ(takes_notes(tensor_cores, element), element == ElementType::BF16);
  }
}

}  // namespace
}  // namespace regatta::cuda
