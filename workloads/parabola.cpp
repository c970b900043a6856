// SPDX-License-Identifier: Apache-2.0
#include "workloads/parabola.h"

#include "workloads/model.h"

namespace regatta::workloads {
namespace {

constexpr std::int64_t kHidden = 5;
constexpr double kRate = 0.01;

Value network(Model& model, Value x) {
  const Initializer normal{.kind = Initializer::Kind::Normal, .scale = 1, .source = {}};
  model.layer("hidden");
  const Value hidden = model.builder().tanh(model.bias(model.dense(x, kHidden, normal)));
  model.layer("output");
  return model.bias(model.dense(hidden, 1, normal));
}

Step training(const Recipe& recipe) {
  require_no_groups(recipe);
  Model model(Mode::Training);
  model.layer("input");
  const std::vector<Value> points =
      model.builder().input_features(model.whole(recipe.global_batch), 1, 1);
  const Value prediction = network(model, points[0]);
  model.layer("loss");
  const Value loss = model.builder().mean_squared_error(prediction, points[1], recipe.global_batch);
  SgdOptions sgd;
  sgd.rate = Schedule::constant(recipe.rate_scale * kRate);
  return model.finish_training(loss, {.optimizer = [sgd](const std::string&) { return sgd; },
                                      .global_batch = recipe.global_batch});
}

Step evaluation(const Recipe& recipe) {
  const std::int64_t batch = recipe.evaluation_batch;
  Model model(Mode::Evaluation);
  model.layer("input");
  const std::vector<Value> points = model.builder().input_features(model.whole(batch), 1, 1);
  const Value prediction = network(model, points[0]);
  model.layer("loss");
  return model.finish_evaluation({model.builder().mean_squared_error(prediction, points[1], 1)},
                                 batch);
}

}  // namespace

Workload parabola() {
  return {.name = "parabola",
          .tier = "quick",
          .summary = "1 -> 5 tanh -> 1 learns y = x^2 from 50 points, full batch, SGD 0.01",
          .shows = Shows::StepCost,
          .data_sets = {"curve"},
          .dtypes = {"f32"},
          .global_batch = 50,
          .epochs = 2000,
          .evaluation_every = 1000,
          .evaluation_batch = 50,
          .metric = Metric::Loss,
          .target = 0.05,  // 19 of 20 reference runs reach it (results/xeon-2-cores/reference)
          .build_training = training,
          .build_evaluation = evaluation};
}

}  // namespace regatta::workloads
