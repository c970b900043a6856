// SPDX-License-Identifier: Apache-2.0
//
// What an evaluation judges where each replica trains a model of its own: all of them, at equal
// steps, by their mean.
#include "harness/run/evaluator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "harness/plan/layout.h"
#include "harness/plan/training_options.h"
#include "harness/run/backend.h"
#include "harness/run/local_trainer.h"

namespace regatta {
namespace {

constexpr std::int64_t kReplicas = 3;

/// The loss of 1 → 5 tanh → 1 on the curve, written without any kernel.
double loss_of(const std::map<std::string, const float*>& parameters, const DataSet& points) {
  double sum = 0;
  for (std::size_t p = 0; p < points.targets.size(); ++p) {
    double y = parameters.at("output.bias")[0];
    for (std::size_t j = 0; j < 5; ++j) {
      const double z = double{parameters.at("hidden.weight")[j]} * double{points.features[p]} +
                       double{parameters.at("hidden.bias")[j]};
      y += double{parameters.at("output.weight")[j]} * std::tanh(z);
    }
    const double error = y - double{points.targets[p]};
    sum += error * error;
  }
  return sum / static_cast<double>(points.targets.size());
}

TEST(Evaluator, JudgesTheModelsOfIndependentReplicasByTheirMean) {
  RaceRequest request;
  request.workload = "parabola";
  request.strategy = "independent";
  request.workers = kReplicas;
  request.steps = 40;
  const DataSets data = load_data(find_workload("parabola"), "curve", {});
  const Placement placement = place(request, data.train.count);
  const Step part = partition(placed_step(placement), binding_of(placement)).front();
  LocalTrainer trainer(part, make_backend("cpu"),
                       executor_options(request, placement, data.train, 0), 0);
  const auto backend = make_backend("cpu");
  Evaluator evaluator(*placement.workload, placement.workload->evaluation(placement.recipe),
                      data.test, *backend,
                      {.evaluations = 1, .models = part.partition.models, .groups = {17, 17, 16}});
  trainer.advance_to(placement.recipe.total_examples);

  std::map<int, std::map<std::string, const float*>> parameters;  // by replica
  for (const VariableCopy& copy : trainer.variables(Copies::All)) {
    parameters[copy.variable->place.replica][copy.variable->name] = copy.tensor.f32();
  }
  ASSERT_EQ(std::ssize(parameters), kReplicas);
  double mean = 0;
  std::set<double> losses;
  for (const auto& [replica, own] : parameters) {
    const double loss = loss_of(own, data.test);
    losses.insert(loss);
    mean += loss / kReplicas;
  }
  EXPECT_EQ(std::ssize(losses), kReplicas);  // other shares of the data, other models
  EXPECT_NEAR(evaluator.judge(trainer).loss, mean, 1e-5 * mean);
}

}  // namespace
}  // namespace regatta
