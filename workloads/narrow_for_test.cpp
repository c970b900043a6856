// SPDX-License-Identifier: Apache-2.0
#include "workloads/narrow_for_test.h"

#include "workloads/airbench94.h"
#include "workloads/gpt.h"
#include "workloads/mobilenet_v2.h"
#include "workloads/parabola.h"
#include "workloads/resnet9.h"
#include "workloads/shared_options.h"

namespace regatta::testing_support {
namespace {

constexpr workloads::Resnet9Size kResnet9{.normalization_group = 4};
constexpr workloads::Airbench94Size kAirbench94{.widths = {32, 64, 64}, .normalization_group = 32};
constexpr workloads::Airbench94Size kAirbench94Muon{
    .widths = {32, 64, 64}, .normalization_group = 32, .by_muon = true};
constexpr workloads::MobileNetV2Size kMobileNetV2{.narrower = 4, .normalization_group = 8};

struct Sequences {
  std::int64_t heads = 3;
  std::int64_t context = 8;
};

workloads::Workload narrow_gpt(std::string_view name, const std::string& block,
                               const std::string& optimizer, const Sequences& sequences = {}) {
  workloads::Workload narrow = workloads::gpt_thin();
  narrow.name = name;
  narrow.options = {{&workloads::kLayers, 2},
                    {&workloads::kWidth, 24},
                    {&workloads::kHeads, sequences.heads},
                    {&workloads::kContext, sequences.context},
                    {&workloads::kVocabulary, 16},
                    {&workloads::kBlock, block},
                    {&workloads::kOptimizer, optimizer}};
  return narrow;
}

}  // namespace

workloads::Workload gpt_narrow() { return narrow_gpt("gpt_narrow", "gpt", "adamw"); }
workloads::Workload llama_narrow() { return narrow_gpt("llama_narrow", "llama", "adamw"); }
workloads::Workload gpt_narrow_muon() { return narrow_gpt("gpt_narrow_muon", "gpt", "muon"); }
workloads::Workload gpt_narrow_sgd() { return narrow_gpt("gpt_narrow_sgd", "gpt", "sgd"); }
workloads::Workload gpt_context() {
  return narrow_gpt("gpt_context", "gpt", "adamw", {.heads = 12, .context = 24});
}
workloads::Workload llama_context() {
  return narrow_gpt("llama_context", "llama", "sgd", {.heads = 12, .context = 24});
}

workloads::Workload parabola_clipped() {
  workloads::Workload clipped = workloads::parabola();
  clipped.name = "parabola_clipped";
  clipped.build_training = [](const workloads::Recipe& recipe) {
    Step step = workloads::parabola().training(recipe);
    step.gradient_clip = 0.05;
    return step;
  };
  return clipped;
}

workloads::Workload resnet9_narrow() {
  workloads::Workload narrow = workloads::resnet9();
  narrow.name = "resnet9_narrow";
  narrow.options = {{&workloads::kWidth, 8}};
  narrow.build_training = [](const workloads::Recipe& recipe) {
    return workloads::resnet9_training(recipe, kResnet9);
  };
  narrow.build_evaluation = [](const workloads::Recipe& recipe) {
    return workloads::resnet9_evaluation(recipe, kResnet9);
  };
  return narrow;
}

workloads::Workload airbench94_narrow() {
  workloads::Workload narrow = workloads::airbench94();
  narrow.name = "airbench94_narrow";
  narrow.build_training = [](const workloads::Recipe& recipe) {
    return workloads::airbench94_training(recipe, kAirbench94);
  };
  narrow.build_evaluation = [](const workloads::Recipe& recipe) {
    return workloads::airbench94_evaluation(recipe, kAirbench94);
  };
  return narrow;
}

workloads::Workload airbench94_muon_narrow() {
  workloads::Workload narrow = workloads::airbench94_muon();
  narrow.name = "airbench94_muon_narrow";
  narrow.build_training = [](const workloads::Recipe& recipe) {
    return workloads::airbench94_training(recipe, kAirbench94Muon);
  };
  narrow.build_evaluation = [](const workloads::Recipe& recipe) {
    return workloads::airbench94_evaluation(recipe, kAirbench94Muon);
  };
  return narrow;
}

workloads::Workload mobilenet_v2_narrow() {
  workloads::Workload narrow = workloads::mobilenet_v2();
  narrow.name = "mobilenet_v2_narrow";
  narrow.build_training = [](const workloads::Recipe& recipe) {
    return workloads::mobilenet_v2_training(recipe, kMobileNetV2);
  };
  narrow.build_evaluation = [](const workloads::Recipe& recipe) {
    return workloads::mobilenet_v2_evaluation(recipe, kMobileNetV2);
  };
  return narrow;
}

workloads::Workload mobilenet_v2_full_narrow() {
  workloads::Workload narrow = workloads::mobilenet_v2_full();
  narrow.name = "mobilenet_v2_full_narrow";
  narrow.build_training = [](const workloads::Recipe& recipe) {
    return workloads::mobilenet_v2_full_training(recipe, kMobileNetV2);
  };
  narrow.build_evaluation = [](const workloads::Recipe& recipe) {
    return workloads::mobilenet_v2_evaluation(recipe, kMobileNetV2);
  };
  return narrow;
}

}  // namespace regatta::testing_support
