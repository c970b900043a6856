// SPDX-License-Identifier: Apache-2.0
//
// cuDNN's engines for every convolution of the workloads for GPUs, on an H100 that is described by
// its properties: needs the library but no GPU. Prints for each shape and pass the plans that a
// set-up with --cudnn-engine timed makes before its trials: the engines that the heuristics name,
// how many of them make a plan, the workspace of the first and the largest of all, and the time of
// heuristics and plans. The committed output is results/no-gpu/cudnn_engines.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <set>
#include <string>

#include "kernels/cuda/library/h100_for_test.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using cuda::ConvolutionPass;
using cuda::ConvolutionShape;
using cuda::kMostWorkspaceBytes;
using testing_support::training_of;
using testing_support::workload_of;

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

double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

/// A step that supplies the convolutions; its batch is that of one convolution.
struct Case {
  const char* workload;
  const char* phase;
  int batch;
  ElementType element;
};

std::string name_of(const Case& subject) {
  return std::string(subject.workload) + "_" + subject.phase + "_" + std::to_string(subject.batch) +
         "_" + std::string(to_string(subject.element));
}

Graph graph_of(const Case& subject) {
  if (subject.phase == std::string("training")) {
    return training_of(subject.workload, 512, 1, subject.element).graph;
  }
  Recipe recipe;
  recipe.global_batch = recipe.evaluation_batch = 500;
  recipe.train_examples = recipe.total_examples = 50'000;
  recipe.element = subject.element;
  return workload_of(subject.workload).evaluation(recipe).graph;
}

/// The plans of one convolution.
struct Plans {
  std::string engines;  ///< by number, in the heuristics' order; in brackets: makes no plan
  std::size_t named = 0;
  std::size_t made = 0;
  std::size_t within_limit = 0;  ///< of the workspace that a convolution may use
  std::int64_t first_workspace = -1;
  std::int64_t largest_workspace = 0;
  double heuristics_ms = 0;
  double plans_ms = 0;
};

Plans plans_of(ConvolutionPass pass, const ConvolutionShape& shape, ElementType element) {
  const cuda::Descriptor h100 = cuda::testing_support::h100();
  const cuda::PlanTarget target{.handle = nullptr, .properties = &h100};
  Plans plans;
  const auto begin = std::chrono::steady_clock::now();
  const auto graph = cuda::convolution_graph(pass, shape, element, target);
  const auto engines = cuda::engines_for(graph.back(), element, target, kEngines);
  plans.named = engines.size();
  plans.heuristics_ms = ms_since(begin);
  for (const cuda::EngineConfiguration& each : engines) {
    const std::optional<cuda::Descriptor> plan = cuda::plan_of(each, target);
    const std::string number = std::to_string(each.engine);
    plans.engines += (plans.engines.empty() ? "" : " ") + (plan ? number : '(' + number + ')');
    if (!plan) continue;
    const std::int64_t workspace = cuda::workspace_bytes_of(*plan);
    if (++plans.made == 1) plans.first_workspace = workspace;
    if (workspace <= kMostWorkspaceBytes) ++plans.within_limit;
    plans.largest_workspace = std::max(plans.largest_workspace, workspace);
  }
  plans.plans_ms = ms_since(begin) - plans.heuristics_ms;
  return plans;
}

class CudnnPlans : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!cuda::why_no_cudnn().empty()) GTEST_SKIP() << cuda::why_no_cudnn();
  }
};

TEST_P(CudnnPlans, AreThereForEveryConvolution) {
  const Case& subject = GetParam();
  const Graph graph = graph_of(subject);
  std::set<std::string> known;
  double heuristics_ms = 0, plans_ms = 0;
  std::size_t made = 0;
  std::int64_t first_workspace = 0;
  std::printf("%s\n", name_of(subject).c_str());
  for (const Node& node : graph.nodes()) {
    const std::optional<ConvolutionPass> pass = pass_of(node.op);
    if (!pass) continue;
    const ConvolutionShape shape = shape_of(graph, node, *pass, subject.batch);
    char key[160];
    std::snprintf(key, sizeof key, "%-8s %4d x %2d x %2d x %3d -> %3d, %d x %d", name_of(*pass),
                  shape.batch, shape.height, shape.width, shape.inputs, shape.outputs, shape.kernel,
                  shape.kernel);
    if (!known.insert(key).second) continue;
    const Plans plans = plans_of(*pass, shape, subject.element);
    ASSERT_GT(plans.within_limit, 0U) << key;
    first_workspace = std::max(first_workspace, plans.first_workspace);
    made += plans.made;
    heuristics_ms += plans.heuristics_ms;
    plans_ms += plans.plans_ms;
    std::printf(
        "  %s: %2zu of %2zu in %4.0f + %4.1f ms, %6.1f, at most %6.1f MiB, %zu too large; %s\n",
        key, plans.made, plans.named, plans.heuristics_ms, plans.plans_ms,
        mebibytes(plans.first_workspace), mebibytes(plans.largest_workspace),
        plans.made - plans.within_limit, plans.engines.c_str());
  }
  std::printf(
      "  %zu convolutions, %zu plans: heuristics %.0f ms, plans %.1f ms; largest workspace "
      "of a first plan %.1f MiB\n",
      known.size(), made, heuristics_ms, plans_ms, mebibytes(first_workspace));
  EXPECT_GT(known.size(), 4U);
}

INSTANTIATE_TEST_SUITE_P(Of, CudnnPlans,
                         testing::Values(Case{"airbench94", "training", 1024, ElementType::BF16},
                                         Case{"airbench94", "evaluation", 2000, ElementType::BF16},
                                         Case{"airbench94", "evaluation", 500, ElementType::BF16},
                                         Case{"resnet9", "training", 512, ElementType::BF16},
                                         Case{"resnet9", "evaluation", 2000, ElementType::BF16},
                                         Case{"resnet9", "evaluation", 500, ElementType::BF16},
                                         Case{"airbench94", "training", 1024, ElementType::F32},
                                         Case{"airbench94", "evaluation", 2000, ElementType::F32},
                                         Case{"resnet9", "training", 512, ElementType::F32},
                                         Case{"resnet9", "evaluation", 2000, ElementType::F32}),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace regatta
