// SPDX-License-Identifier: Apache-2.0
//
// MobileNetV2 for images of 32 x 32 pixels. Depthwise convolutions have few multiply-adds per
// activation, so memory traffic and the number of nodes matter more than in ResNet-9. The workload
// mobilenet_v2 has a textbook recipe, five epochs with Adam; mobilenet_v2_full has the complete
// recipe of its source. Source: kuangliu/pytorch-cifar, models/mobilenetv2.py and main.py; the
// network: Sandler et al., arXiv:1801.04381.
#pragma once

#include <cstdint>

#include "workloads/workload.h"

namespace regatta::workloads {

/// The parameters that set the size of the model.
struct MobileNetV2Size {
  /// Divisor of all numbers of channels, except those of images and classes.
  std::int64_t narrower;
  std::int64_t normalization_group;  ///< number of examples that are normalised together
};

Workload mobilenet_v2();
Workload mobilenet_v2_full();
/// Return the workloads' training steps and their common evaluation step, with a model of this
/// size.
Step mobilenet_v2_training(const Recipe& recipe, const MobileNetV2Size& size);
Step mobilenet_v2_full_training(const Recipe& recipe, const MobileNetV2Size& size);
Step mobilenet_v2_evaluation(const Recipe& recipe, const MobileNetV2Size& size);

}  // namespace regatta::workloads
