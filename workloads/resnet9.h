// SPDX-License-Identifier: Apache-2.0
//
// The workloads resnet9 and resnet9_thin. resnet9 is the network that won DAWNBench's CIFAR-10
// competition on one GPU, with its complete recipe. resnet9_thin has a quarter of the channels and
// a recipe that takes seconds. Source: D. Page, cifar10-fast, dawn.py (24 epochs).
#pragma once

#include <cstdint>

#include "workloads/workload.h"

namespace regatta::workloads {

/// The parameters in which resnet9 and its smaller variants differ, besides their options.
struct Resnet9Size {
  std::int64_t normalization_group = 32;  ///< number of examples that are normalised together
  double peak_rate = 0.4;                 ///< highest learning rate, for the mean loss
  double peak_at = 5.0 / 24;  ///< the point of the run with the highest rate, as a fraction
};

Workload resnet9();
Workload resnet9_thin();
/// Return the workload's training step and evaluation step with a model of this size. The recipe
/// has a value for kWidth.
Step resnet9_training(const Recipe& recipe, Resnet9Size size);
Step resnet9_evaluation(const Recipe& recipe, const Resnet9Size& size);

}  // namespace regatta::workloads
