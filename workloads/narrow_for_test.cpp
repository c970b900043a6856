// SPDX-License-Identifier: Apache-2.0
#include "workloads/narrow_for_test.h"

#include "workloads/airbench94.h"
#include "workloads/mobilenet_v2.h"
#include "workloads/resnet9.h"

namespace regatta::testing_support {
namespace {

constexpr Resnet9Size kResnet9{.width = 8, .normalization_group = 4};
constexpr Airbench94Size kAirbench94{.widths = {32, 64, 64}, .normalization_group = 32};
constexpr MobileNetV2Size kMobileNetV2{.narrower = 4, .normalization_group = 8};

}  // namespace

Workload resnet9_narrow() {
  Workload narrow = resnet9();
  narrow.name = "resnet9_narrow";
  narrow.training = [](const Recipe& recipe) { return resnet9_training(recipe, kResnet9); };
  narrow.evaluation = [](const Recipe& recipe) { return resnet9_evaluation(recipe, kResnet9); };
  return narrow;
}

Workload airbench94_narrow() {
  Workload narrow = airbench94();
  narrow.name = "airbench94_narrow";
  narrow.training = [](const Recipe& recipe) { return airbench94_training(recipe, kAirbench94); };
  narrow.evaluation = [](const Recipe& recipe) {
    return airbench94_evaluation(recipe, kAirbench94);
  };
  return narrow;
}

Workload mobilenet_v2_narrow() {
  Workload narrow = mobilenet_v2();
  narrow.name = "mobilenet_v2_narrow";
  narrow.training = [](const Recipe& recipe) {
    return mobilenet_v2_training(recipe, kMobileNetV2);
  };
  narrow.evaluation = [](const Recipe& recipe) {
    return mobilenet_v2_evaluation(recipe, kMobileNetV2);
  };
  return narrow;
}

Workload mobilenet_v2_full_narrow() {
  Workload narrow = mobilenet_v2_full();
  narrow.name = "mobilenet_v2_full_narrow";
  narrow.training = [](const Recipe& recipe) {
    return mobilenet_v2_full_training(recipe, kMobileNetV2);
  };
  narrow.evaluation = [](const Recipe& recipe) {
    return mobilenet_v2_evaluation(recipe, kMobileNetV2);
  };
  return narrow;
}

}  // namespace regatta::testing_support
