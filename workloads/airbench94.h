// SPDX-License-Identifier: Apache-2.0
//
// The workload airbench94: the fastest published recipe of its time for 94 % accuracy on CIFAR-10,
// but with batch normalisation over groups of examples. Source: K. Jordan, airbench
// (legacy/airbench94.py), arXiv:2404.00498.
#pragma once

#include <cstdint>

#include "workloads/workload.h"

namespace regatta::workloads {

/// The parameters that set the size of the model.
struct Airbench94Size {
  std::int64_t widths[3];            ///< number of channels of each block
  std::int64_t normalization_group;  ///< number of examples that are normalised together
  bool by_muon = false;              ///< head and optimizers of airbench94_muon
};

Workload airbench94();
/// Returns the workload of the next record, by Muon. Source: K. Jordan, airbench,
/// airbench94_muon.py; but with batch normalisation over groups.
Workload airbench94_muon();
/// Return the workload's training step and evaluation step with a model of this size.
Step airbench94_training(const Recipe& recipe, Airbench94Size size);
Step airbench94_evaluation(const Recipe& recipe, const Airbench94Size& size);

}  // namespace regatta::workloads
