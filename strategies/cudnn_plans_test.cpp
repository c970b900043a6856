// SPDX-License-Identifier: Apache-2.0
//
// cuDNN's engines for every convolution of the workloads that aim at a GPU, on an H100 that is
// described by its properties: needs the library but no GPU. Prints for each shape and pass the
// engines that the heuristics name, the first one that makes a plan, its workspace and the time
// that this took, which is what a set-up with --cudnn-engine heuristic spends.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "kernels/cuda/library/h100_for_test.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using cuda::ConvolutionPass;
using cuda::ConvolutionShape;
using testing_support::training_of;

constexpr int kEngines = 16;

std::optional<ConvolutionPass> pass_of(Op op) {
  switch (op) {
    case Op::Convolution: return ConvolutionPass::Forward;
    case Op::ConvolutionBackwardData: return ConvolutionPass::BackwardData;
    case Op::ConvolutionBackwardWeights: return ConvolutionPass::BackwardWeights;
    default: return std::nullopt;
  }
}

const char* name_of(ConvolutionPass pass) {
  switch (pass) {
    case ConvolutionPass::Forward: return "forward";
    case ConvolutionPass::BackwardData: return "data";
    case ConvolutionPass::BackwardWeights: return "weights";
  }
  return "";
}

ConvolutionShape shape_of(const Graph& graph, const Node& node, ConvolutionPass pass, int batch) {
  std::vector<Tensor> inputs, outputs;
  for (const Value& input : node.inputs) inputs.push_back({.type = graph.type(input)});
  for (const TensorType& type : node.outputs) outputs.push_back({.type = type});
  ConvolutionShape shape = cuda::shape_of(
      pass,
      {.node = node, .inputs = inputs, .outputs = outputs, .variables = {}, .versions_seen = {}});
  shape.batch = batch;
  return shape;
}

double ms_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

class CudnnPlans : public testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  void SetUp() override {
    if (!cuda::why_no_cudnn().empty()) GTEST_SKIP() << cuda::why_no_cudnn();
  }
};

TEST_P(CudnnPlans, AreThereForEveryConvolution) {
  const auto& [workload, batch] = GetParam();
  const cuda::Descriptor h100 = cuda::testing_support::h100();
  const cuda::PlanTarget target{.handle = nullptr, .properties = &h100};
  const Step step = training_of(workload, 512, 1, ElementType::BF16);
  std::map<std::string, int> known;
  double all_ms = 0;
  std::int64_t largest = 0;
  for (const Node& node : step.graph.nodes()) {
    const std::optional<ConvolutionPass> pass = pass_of(node.op);
    if (!pass) continue;
    const ConvolutionShape shape = shape_of(step.graph, node, *pass, batch);
    char key[160];
    std::snprintf(key, sizeof key, "%-8s %4d x %2d x %2d x %3d -> %3d, %d x %d", name_of(*pass),
                  shape.batch, shape.height, shape.width, shape.inputs, shape.outputs, shape.kernel,
                  shape.kernel);
    if (++known[key] > 1) continue;
    const auto begin = std::chrono::steady_clock::now();
    const auto graph = cuda::convolution_graph(*pass, shape, ElementType::BF16, target);
    const auto engines = cuda::engines_for(graph.back(), ElementType::BF16, target, kEngines);
    const double heuristics_ms = ms_since(begin);
    std::optional<cuda::Descriptor> plan;
    std::int64_t engine = -1;
    for (const cuda::EngineConfiguration& each : engines) {
      plan = cuda::plan_of(each, target);
      engine = each.engine;
      if (plan) break;
    }
    const double ms = ms_since(begin);
    ASSERT_TRUE(plan.has_value()) << key;
    const std::int64_t workspace = cuda::workspace_bytes_of(*plan);
    EXPECT_LE(workspace, std::int64_t{512} << 20) << key;
    largest = std::max(largest, workspace);
    all_ms += ms;
    std::printf(
        "%s: %s: %2zu engines in %5.1f ms, first plan by engine %lld in %6.1f ms, "
        "workspace %.1f MiB\n",
        workload, key, engines.size(), heuristics_ms, static_cast<long long>(engine),
        ms - heuristics_ms, static_cast<double>(workspace) / (1 << 20));
  }
  std::printf("%s: %zu shapes and passes, %.0f ms in all, largest workspace %.1f MiB\n", workload,
              known.size(), all_ms, static_cast<double>(largest) / (1 << 20));
  EXPECT_GT(known.size(), 10U);
}

INSTANTIATE_TEST_SUITE_P(Of, CudnnPlans,
                         testing::Values(std::tuple("airbench94", 1024),
                                         std::tuple("resnet9", 512)),
                         [](const auto& test) { return std::string(std::get<0>(test.param)); });

}  // namespace
}  // namespace regatta
