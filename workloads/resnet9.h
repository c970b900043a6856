// SPDX-License-Identifier: Apache-2.0
//
// ResNet-9, the network that won DAWNBench's CIFAR-10 race on one GPU, with its complete recipe;
// and resnet9_thin, with a quarter of the channels and a recipe that takes seconds. Source: D.
// Page, cifar10-fast, dawn.py (24 epochs).
#pragma once

#include <cstdint>

#include "workloads/workload.h"

namespace regatta {

/// The parameters in which sizes of the model differ.
struct Resnet9Size {
  std::int64_t width = 64;                ///< channels of the first layer
  std::int64_t normalization_group = 32;  ///< examples
  double peak_rate = 0.4;                 ///< for the mean loss
  double peak_at = 5.0 / 24;              ///< fraction of the run
};

Workload resnet9();
Workload resnet9_thin();
/// The steps of the workload with a model of this size.
Step resnet9_training(const Recipe& recipe, Resnet9Size size);
Step resnet9_evaluation(const Recipe& recipe, const Resnet9Size& size);

}  // namespace regatta
