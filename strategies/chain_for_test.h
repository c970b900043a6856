// SPDX-License-Identifier: Apache-2.0
//
// For tests of pipelines: a model of equal layers.
#pragma once

#include <string>

#include "workloads/model.h"

namespace regatta::testing_support {

/// Eight equal layers between a stem (its input has no gradient) and a head.
inline Step chain(std::int64_t width, std::int64_t batch) {
  constexpr int kLayers = 8;
  const Initializer normal{.kind = Initializer::Kind::Normal, .scale = 0.1, .source = {}};
  workloads::Model model(workloads::Mode::Training);
  model.layer("input");
  const auto points = model.builder().input_features(model.whole(batch), 1, 1);
  model.layer("stem");
  Value x = model.dense(points[0], width, normal);
  for (int i = 0; i < kLayers; ++i) {
    model.layer("layer" + std::to_string(i));
    x = model.dense(x, width, normal);
  }
  model.layer("head");
  const Value y = model.dense(x, 1, normal);
  model.layer("loss");
  const Value loss = model.builder().mean_squared_error(y, points[1], batch);
  const SgdOptions sgd{.rate = Schedule::constant(0.001)};
  return model.finish_training(
      loss, {.optimizer = [sgd](const std::string&) { return sgd; }, .global_batch = batch});
}

}  // namespace regatta::testing_support
