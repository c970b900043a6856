// SPDX-License-Identifier: Apache-2.0
//
// Asynchrony is real and can be shown step by step: two workers on a bowl under a virtual
// interleaving, then real threads and their measured staleness.
#include <gtest/gtest.h>

#include <optional>

#include "kernels/distribute/loops.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/gradient.h"
#include "kernels/reference/interpreter.h"
#include "kernels/runtime/loops/clock_watch_for_test.h"
#include "strategies/equivalence_for_test.h"

namespace regatta {
namespace {

using namespace testing_support;

/// The bowl w²: one weight, one example a worker, prediction w * 1, target 0. The loss over both
/// examples is w², so a worker's own term has the gradient w.
Step bowl(double rate) {
  Step step;
  Builder builder(step.graph);
  builder.layer("bowl");
  Variable w;
  w.name = "w";
  w.type.dims = {1, 1};
  const VariableId weight = step.graph.add(w);
  w.name = "w.velocity";
  w.kind = VariableKind::Slot;
  const VariableId velocity = step.graph.add(w);
  const auto data = builder.input_features({.batch = 2, .offset = 0, .global_batch = 2}, 1, 1);
  const Value read = builder.read(weight);
  const Value loss = builder.mean_squared_error(builder.dense(data[0], read), data[1], 2);
  const std::vector<Value> wanted{read};
  const Value slope = gradient(step.graph, loss, wanted)[0];
  SgdOptions sgd;
  sgd.rate = Schedule::constant(rate);
  const NodeId update = builder.sgd(slope, weight, velocity, sgd);
  step.trainables = {{.variable = weight, .gradient = slope, .updates = {update}}};
  step.losses = {loss};
  step.global_batch = 2;
  return step;
}

/// Two asynchronous workers, with steps interleaved by hand.
class Interleaving {
 public:
  explicit Interleaving(double rate, const std::string& strategy = "async_shared") {
    strategies::StrategyOptions options;
    options.replicas = 2;
    step_ = strategies::apply(strategies::find_strategies(strategy), bowl(rate), options);
    loop_of_ = loops(step_.graph);
    interpreter_.emplace(step_.graph, 1, reference::InitialValues{{"w", {1.0F}}});
    for (NodeId id = 0; id < static_cast<NodeId>(step_.graph.nodes().size()); ++id) {
      if (step_.graph.node(id).op != Op::Input) continue;
      interpreter_->set({id, 0}, std::vector<float>{1.0F});
      interpreter_->set({id, 1}, std::vector<float>{0.0F});
    }
  }

  /// Reads the weight and computes the gradient.
  void compute(int worker) {
    run(worker, [](Phase phase) { return phase == Phase::Forward || phase == Phase::Backward; });
  }
  /// Applies the last computed gradient.
  void push(int worker) {
    run(worker,
        [](Phase phase) { return phase == Phase::Communication || phase == Phase::Update; });
  }
  float weight(int replica = 0) { return interpreter_->variable(replica)[0]; }
  std::uint64_t missed(std::size_t versions) const {
    return interpreter_->counters().staleness[versions];
  }

 private:
  void run(int worker, bool (*wanted)(Phase)) {
    for (NodeId id = 0; id < static_cast<NodeId>(step_.graph.nodes().size()); ++id) {
      const bool own = loop_of_[static_cast<std::size_t>(id)] == worker;
      if (own && wanted(step_.graph.node(id).phase)) interpreter_->run_node(id, StepContext{});
    }
  }

  Step step_;
  std::vector<int> loop_of_;
  std::optional<reference::Interpreter> interpreter_;
};

// Rate 0.8: one worker alone steps from 1 to 0.2, towards the minimum at 0. If both read 1 before
// either has stepped, both steps start there and overshoot the minimum.
TEST(Bowl, WorkersThatTakeTurnsApproachTheMinimum) {
  Interleaving run(0.8);
  run.compute(0);
  run.push(0);
  EXPECT_NEAR(run.weight(), 0.2F, 1e-6);
  run.compute(1);
  run.push(1);
  EXPECT_NEAR(run.weight(), 0.04F, 1e-6);
}

TEST(Bowl, WorkersThatReadAtTheSameTimePassTheMinimum) {
  Interleaving run(0.8);
  run.compute(0);
  run.compute(1);
  run.push(0);
  EXPECT_NEAR(run.weight(), 0.2F, 1e-6);
  run.push(1);
  EXPECT_NEAR(run.weight(), -0.6F, 1e-6);  // past the minimum, and farther from it than after turns
}

/// Rate 0.2: a step of all examples moves the weight from 1 to 0.6; the replicas' steps move their
/// mean as far. Replica 0 averages with replica 1.
TEST(Bowl, ReplicasThatAverageMoveTheirMeanAsAStepOfAllDoes) {
  Interleaving run(0.2, "ad_psgd");
  run.compute(0);
  run.compute(1);
  run.push(1);
  EXPECT_NEAR(run.weight(0), 1.0F, 1e-6);
  EXPECT_NEAR(run.weight(1), 0.6F, 1e-6);
  run.compute(1);
  run.push(0);  // first both take the mean, 0.8
  EXPECT_NEAR(run.weight(0), 0.4F, 1e-6);
  EXPECT_NEAR(run.weight(1), 0.8F, 1e-6);
  run.push(1);
  EXPECT_NEAR(run.weight(1), 0.56F, 1e-6);
  EXPECT_EQ(run.missed(0), 2U);
  EXPECT_EQ(run.missed(1), 1U) << "the average that replica 0 began";
}

class AsyncShared : public testing::TestWithParam<Sharing> {};

TEST_P(AsyncShared, MissesAboutNMinusOneVersionsUnderLoad) {
  TrialOptions options = trial_of("async_shared 2 steps=30");
  options.options.given["sharing"] = GetParam() == Sharing::Locked ? "locked" : "relaxed";
  Trial run(training_of("resnet9_thin", 32, options.steps), data_of("resnet9_thin"), options);
  const double mean = mean_staleness(run.executor().workers());
  EXPECT_GT(mean, 0.5);  // a busy machine may delay one of them between its steps
  EXPECT_LE(mean, 1);
}

TEST_P(AsyncShared, LearnsTheParabola) {
  TrialOptions options = trial_of("async_shared 2 steps=2000");
  options.options.given["sharing"] = GetParam() == Sharing::Locked ? "locked" : "relaxed";
  Trial run(training_of("parabola", 50, options.steps), data_of("parabola"), options);
  const auto loops = run.executor().loops();
  ASSERT_EQ(loops.size(), 2U);
  // On a busy machine one worker may have done nearly all steps; the test uses that one.
  const LoopReport& busier = loops[0].steps > loops[1].steps ? loops[0] : loops[1];
  ASSERT_GT(busier.steps, options.steps / 2);
  EXPECT_LT(busier.losses.back(), busier.losses.front() / 4);
}

/// With a straggler that also sleeps in updates, the fast workers reach the bound and never exceed
/// it. The schedule is longer than the run, so that every update runs to its end.
TEST(StalenessBound, NoWorkerLeadsTheSlowestByMoreThanTheBound) {
  for (const char* strategy : {"async_shared", "parameter_server_async"}) {
    for (std::int64_t bound : {0, 1, 4}) {
      TrialOptions options;
      options.strategy = strategy;
      options.options.replicas = 3;
      options.steps = 20;
      options.stragglers[2] = 8;
      options.options.given["staleness_bound"] = bound;
      ClockWatch watch(ClockWatch::Slow{.worker = 2});
      options.watch = &watch;
      Trial run(training_of("parabola", 48, 1000), data_of("parabola"), options);
      EXPECT_EQ(watch.largest_lead(), bound) << strategy;
    }
  }
}

/// Each trains its own model and takes no other's steps, so all runs are equal.
TEST(Independent, ReplicasTakeEqualStepsHoweverSlowOneIs) {
  TrialOptions options = trial_of("independent 3 steps=200");
  const Step step = training_of("parabola", 50, options.steps);
  Trial plain(step, data_of("parabola"), options);
  options.stragglers[1] = 8;
  Trial slow(step, data_of("parabola"), options);
  const std::vector<LoopReport> loops = plain.executor().loops();
  const std::vector<LoopReport> again = slow.executor().loops();
  ASSERT_EQ(loops.size(), 3U);
  for (std::size_t i = 0; i < loops.size(); ++i) {
    EXPECT_EQ(loops[i].steps, 200);
    EXPECT_EQ(loops[i].losses, again[i].losses);
    EXPECT_EQ(loops[i].examples, again[i].examples);
  }
  EXPECT_EQ(plain.executor().examples_seen(), 200 * 50);
}

INSTANTIATE_TEST_SUITE_P(Sharing, AsyncShared, testing::Values(Sharing::Relaxed, Sharing::Locked),
                         [](const auto& test) { return std::string(to_string(test.param)); });

}  // namespace
}  // namespace regatta
