// SPDX-License-Identifier: Apache-2.0
//
// MobileNetV2 for images of 32 x 32, with depthwise convolutions: few multiply-adds for each
// activation, so memory and the number of nodes weigh more than in ResNet-9. mobilenet_v2 trains by
// the textbook, with Adam for five epochs; mobilenet_v2_full has its source's complete recipe.
// Source: kuangliu/pytorch-cifar, models/mobilenetv2.py and main.py; the network: Sandler et al.,
// arXiv:1801.04381.
#pragma once

#include <cstdint>

#include "workloads/workload.h"

namespace regatta {

/// The parameters in which sizes of the model differ.
struct MobileNetV2Size {
  std::int64_t narrower;             ///< divides all numbers of channels except those of images and
                                     ///< classes
  std::int64_t normalization_group;  ///< examples
};

Workload mobilenet_v2();
Workload mobilenet_v2_full();
/// The steps of the workloads with a model of this size; both are evaluated in the same way.
Step mobilenet_v2_training(const Recipe& recipe, const MobileNetV2Size& size);
Step mobilenet_v2_full_training(const Recipe& recipe, const MobileNetV2Size& size);
Step mobilenet_v2_evaluation(const Recipe& recipe, const MobileNetV2Size& size);

}  // namespace regatta
