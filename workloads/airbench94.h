// SPDX-License-Identifier: Apache-2.0
//
// airbench94: the fastest published recipe of its time for 94 % on CIFAR-10, here with
// normalisation in groups. Source: K. Jordan, airbench (legacy/airbench94.py), arXiv:2404.00498.
#pragma once

#include <cstdint>

#include "workloads/workload.h"

namespace regatta {

/// The parameters in which sizes of the model differ.
struct Airbench94Size {
  std::int64_t widths[3];            ///< channels of the blocks
  std::int64_t normalization_group;  ///< examples
};

Workload airbench94();
/// The steps of the workload with a model of this size.
Step airbench94_training(const Recipe& recipe, Airbench94Size size);
Step airbench94_evaluation(const Recipe& recipe, const Airbench94Size& size);

}  // namespace regatta
