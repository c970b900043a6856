// SPDX-License-Identifier: Apache-2.0
//
// For tests of the runtime: small steps and the data they train on.
#pragma once

#include <cstdint>

#include "kernels/data/data_set.h"
#include "kernels/graph/graph.h"
#include "workloads/data/curve.h"
#include "workloads/data/shapes.h"
#include "workloads/workload.h"

namespace regatta::testing_support {

inline Step parabola(std::int64_t steps) {
  workloads::Recipe recipe;
  recipe.global_batch = 50;
  recipe.train_examples = 50;
  recipe.total_examples = steps * 50;
  return workloads::find_workload("parabola").training(recipe);
}

inline Step thin(std::int64_t batch, std::int64_t steps) {
  workloads::Recipe recipe;
  recipe.global_batch = batch;
  recipe.train_examples = 256;
  recipe.total_examples = steps * batch;
  return workloads::find_workload("resnet9_thin").training(recipe);
}

inline const DataSet& curve() {
  static const DataSet data = workloads::make_curve();
  return data;
}

inline const DataSet& shapes() {
  static const DataSet data = workloads::make_shapes(20, workloads::Split::Train, 256);
  return data;
}

}  // namespace regatta::testing_support
