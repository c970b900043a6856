// SPDX-License-Identifier: Apache-2.0
//
// For tests: the parabola, 1 → 5 tanh → 1, trained by Adam.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/model.h"

namespace regatta::testing_support {

inline Step curve_by_adam(std::int64_t batch, std::optional<LookaheadOptions> lookahead = {}) {
  const Initializer normal{.kind = Initializer::Kind::Normal, .scale = 1, .source = {}};
  workloads::Model model(workloads::Mode::Training);
  model.layer("input");
  const std::vector<Value> points = model.builder().input_features(model.whole(batch), 1, 1);
  model.layer("hidden");
  const Value hidden = model.builder().tanh(model.bias(model.dense(points[0], 5, normal)));
  model.layer("output");
  const Value prediction = model.bias(model.dense(hidden, 1, normal));
  model.layer("loss");
  const Value loss = model.builder().mean_squared_error(prediction, points[1], batch);
  AdamOptions adam;
  adam.rate = Schedule::constant(0.01);
  return model.finish_training(loss, {.optimizer = [&](const std::string&) { return adam; },
                                      .lookahead = std::move(lookahead),
                                      .global_batch = batch});
}

}  // namespace regatta::testing_support
