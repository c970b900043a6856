// SPDX-License-Identifier: Apache-2.0
//
// Tests which values are evaluated: if each replica trains its own model, all models at equal
// steps, by the mean of their results; if replicas average their parameters in some steps, the mean
// of their parameters.
#include "harness/run/evaluator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "harness/plan/layout.h"
#include "harness/plan/training_options.h"
#include "harness/run/backend.h"
#include "harness/run/local_trainer.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/verify.h"
#include "strategies/passes.h"

namespace regatta::run {
namespace {

constexpr std::int64_t kReplicas = 3;

/// The loss of 1 → 5 tanh → 1 on the curve, written without any kernel.
double loss_of(const std::map<std::string, const float*>& parameters, const DataSet& points) {
  const auto& targets = points.targets.as<float>();
  double sum = 0;
  for (std::size_t p = 0; p < targets.size(); ++p) {
    double y = parameters.at("output.bias")[0];
    for (std::size_t j = 0; j < 5; ++j) {
      const double z =
          double{parameters.at("hidden.weight")[j]} * double{points.inputs.as<float>()[p]} +
          double{parameters.at("hidden.bias")[j]};
      y += double{parameters.at("output.weight")[j]} * std::tanh(z);
    }
    const double error = y - double{targets[p]};
    sum += error * error;
  }
  return sum / static_cast<double>(targets.size());
}

/// Counts fetches of variables: with several processes each fetch transfers all of them.
class CountedTrainer final : public Trainer {
 public:
  explicit CountedTrainer(Trainer& inner) : inner_(inner) {}
  int fetches() const { return fetches_; }

  void advance_to(std::int64_t examples) override { inner_.advance_to(examples); }
  std::int64_t examples_seen() const override { return inner_.examples_seen(); }
  std::optional<double> latest_loss() const override { return inner_.latest_loss(); }
  std::vector<VariableCopy> variables(Copies which) override {
    ++fetches_;
    return inner_.variables(which);
  }
  void begin_at(const std::vector<VariableCopy>& variables, const Positions& at) override {
    inner_.begin_at(variables, at);
  }
  TrainingReport report() override { return inner_.report(); }
  std::vector<ProcessTrace> traces() override { return inner_.traces(); }

 private:
  Trainer& inner_;
  int fetches_ = 0;
};

using ByReplica = std::map<int, std::map<std::string, const float*>>;

/// The parabola under a strategy of three replicas after 42 steps.
class Trained {
 public:
  explicit Trained(
      const std::string& strategy, void (*rewrite)(Step&) = [](Step&) {}) {
    request_.workload = "parabola";
    request_.strategy = strategy;
    request_.workers = kReplicas;
    request_.steps = 42;
    data_ = workloads::load_data(workloads::find_workload("parabola"), "curve", {});
    const plan::Placement placement = plan::place(request_, data_.train.count);
    Step placed = placement.placed->step;
    rewrite(placed);
    const Step part = strategies::partitioned(placed, plan::binding_of(placement)).front();
    trainer_ = std::make_unique<LocalTrainer>(
        part, make_backend("cpu"), plan::executor_options(request_, placement, data_.train, 0), 0);
    backend_ = make_backend("cpu");
    evaluator_ = std::make_unique<Evaluator>(
        *placement.workload, placement.workload->evaluation(placement.recipe), data_.test,
        *backend_,
        EvaluatorOptions{
            .evaluations = 1, .models = part.partition.models, .groups = {17, 17, 16}});
    trainer_->advance_to(placement.recipe.total_examples);
    for (const VariableCopy& copy : trainer_->variables(Copies::All)) {
      if (copy.variable.kind != VariableKind::Parameter) continue;
      parameters_[copy.variable.place.replica][copy.variable.name] = copy.tensor.f32();
    }
  }

  const ByReplica& parameters() const { return parameters_; }
  const DataSet& points() const { return data_.test; }
  double judged_loss() {
    CountedTrainer counted(*trainer_);
    const double loss = evaluator_->judge(counted).loss;
    EXPECT_EQ(counted.fetches(), 1);
    return loss;
  }

 private:
  plan::RaceRequest request_;
  workloads::DataSets data_;
  std::unique_ptr<LocalTrainer> trainer_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Evaluator> evaluator_;
  ByReplica parameters_;
};

TEST(Evaluator, JudgesTheModelsOfIndependentReplicasByTheirMean) {
  Trained run("independent");
  ASSERT_EQ(std::ssize(run.parameters()), kReplicas);
  double mean = 0;
  std::set<double> losses;
  for (const auto& [replica, own] : run.parameters()) {
    const double loss = loss_of(own, run.points());
    losses.insert(loss);
    mean += loss / kReplicas;
  }
  EXPECT_EQ(std::ssize(losses), kReplicas);  // the shares of the data differ, so do the models
  EXPECT_NEAR(run.judged_loss(), mean, 1e-5 * mean);
}

/// Elastic averaging: replica 0 has a centre of each parameter, which moves towards all copies.
void add_centres(Step& step) {
  Builder builder(step.graph);
  builder.in(Phase::Update);
  std::map<std::string, std::vector<VariableId>> copies;
  for (const Trainable& trainable : step.trainables) {
    const VariableId own = trainable.variable;
    copies[step.graph.variable(own).name].push_back(own);
    step.graph.mutable_variable(own).judged = Judged::Never;
  }
  for (const auto& [name, own] : copies) {
    Variable centre = step.graph.variable(own.front());
    centre.initializer = first_value_of(centre);
    centre.name += ".centre";
    centre.judged = {};
    centre.judged_as = name;
    const VariableId id = step.graph.add(centre);
    std::vector<Value> parts{builder.at(centre.place).scale(builder.read(id), 0.7)};
    for (const VariableId each : own) {
      builder.at(step.graph.variable(each).place);
      parts.push_back(builder.scale(builder.read(each), 0.1));
    }
    builder.at(centre.place).assign(builder.sum(parts), id);
  }
  verify(step, "elastic averaging");
}

TEST(Evaluator, JudgesTheVariableThatStandsForTheOthers) {
  Trained run("local_sgd", add_centres);
  std::map<std::string, const float*> centre;
  for (const auto& [name, values] : run.parameters().at(0)) {
    const std::size_t end = name.find(".centre");
    if (end != std::string::npos) centre[name.substr(0, end)] = values;
  }
  const double expected = loss_of(centre, run.points());
  const double judged = run.judged_loss();
  EXPECT_NEAR(judged, expected, 1e-5 * expected);
  EXPECT_GT(std::abs(loss_of(run.parameters().at(0), run.points()) - judged), 1e-4 * expected);
}

/// Every fourth step ends with an average; the last one was two steps before the end.
TEST(Evaluator, JudgesTheMeanOfParametersThatReplicasAverageInSomeSteps) {
  Trained run("local_sgd");
  ASSERT_EQ(std::ssize(run.parameters()), kReplicas);
  std::map<std::string, std::vector<float>> means;
  const std::map<std::string, std::size_t> sizes = {
      {"hidden.weight", 5}, {"hidden.bias", 5}, {"output.weight", 5}, {"output.bias", 1}};
  constexpr double kShares[] = {17 / 50.0, 17 / 50.0, 16 / 50.0};
  std::map<std::string, const float*> mean;
  for (const auto& [name, size] : sizes) {
    for (std::size_t i = 0; i < size; ++i) {
      double sum = 0;
      for (const auto& [replica, own] : run.parameters()) {
        sum += kShares[replica] * double{own.at(name)[i]};
      }
      means[name].push_back(static_cast<float>(sum));
    }
    mean[name] = means[name].data();
  }
  const double expected = loss_of(mean, run.points());
  const double judged = run.judged_loss();
  EXPECT_NEAR(judged, expected, 1e-5 * expected);
  for (const auto& [replica, own] : run.parameters()) {
    EXPECT_GT(std::abs(loss_of(own, run.points()) - judged), 1e-4 * expected) << replica;
  }
}

}  // namespace
}  // namespace regatta::run
