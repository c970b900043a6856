// SPDX-License-Identifier: Apache-2.0
//
// gossip without gradients, from replicas with different values: pushes only move values from one
// to another and end at the mean; and its first step, in which the gradient of the global batch
// moves all replicas together.
#include <gtest/gtest.h>

#include <functional>

#include "strategies/apart_for_test.h"
#include "strategies/test_support.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

constexpr std::int64_t kMost = 60;

TrialOptions options_of(std::int64_t replicas, std::int64_t overlap, std::int64_t steps) {
  TrialOptions run;
  run.strategy = "gossip";
  run.options.replicas = replicas;
  run.options.given = {{"overlap", overlap}};
  run.steps = steps;
  run.most_steps = kMost;
  return run;
}

/// Small numbers with exact sums and halves: element i of replica r is 16 r + i.
class Apart {
 public:
  Apart(std::int64_t replicas, std::int64_t overlap)
      : trial_(resting_training(kMost), data_of("parabola"), options_of(replicas, overlap, 0)) {
    begin("hidden.weight.pushed",
          [](std::int64_t r, std::int64_t i) { return static_cast<float>(16 * r * r + i); });
  }

  void begin(const std::string& name,
             const std::function<float(std::int64_t, std::int64_t)>& value) {
    begin_apart(trial_, name, value);
  }
  void run_to(std::int64_t steps) { trial_.executor().run(steps * 50); }
  std::vector<std::vector<float>> values(const std::string& name) {
    return by_replica(trial_, name);
  }
  /// The sum of one element over all replicas, including the halves under way.
  double sum(const std::string& name, std::size_t element) {
    double all = 0;
    for (const std::string& each : {name, name + ".sent"}) {
      for (const auto& values : by_replica(trial_, each)) all += double{values[element]};
    }
    return all;
  }

 private:
  Trial trial_;
};

TEST(Gossip, EndsAtTheExactMeanAfterLogNRoundsOfPowersOfTwo) {
  for (const std::int64_t rounds : {1, 2, 3}) {
    const std::int64_t n = std::int64_t{1} << rounds;
    Apart replicas(n, 0);
    const double sum = replicas.sum("hidden.weight.pushed", 3);
    if (rounds > 1) {
      replicas.run_to(rounds - 1);
      EXPECT_NE(replicas.values("hidden.weight")[0], replicas.values("hidden.weight")[1]) << n;
    }
    replicas.run_to(rounds);
    for (const auto& values : replicas.values("hidden.weight")) {
      EXPECT_EQ(values[3], static_cast<float>(sum / static_cast<double>(n))) << n;
    }
    for (const auto& weight : replicas.values("push_weight")) EXPECT_EQ(weight[0], 1) << n;
  }
}

/// Starts with weights 1, 2, ..., as if some replicas began with more.
TEST(Gossip, ComesToTheMeanByWeightsOfAnyNumber) {
  for (const std::int64_t overlap : {0, 1}) {
    for (const std::int64_t n : {2, 3, 5}) {
      SCOPED_TRACE(std::to_string(n) + ", overlap " + std::to_string(overlap));
      Apart replicas(n, overlap);
      replicas.begin("push_weight",
                     [](std::int64_t r, std::int64_t) { return static_cast<float>(r + 1); });
      const double sum = replicas.sum("hidden.weight.pushed", 3);
      const double weights = replicas.sum("push_weight", 0);
      EXPECT_EQ(weights, static_cast<double>(n * (n + 1)) / 2);
      replicas.run_to(kMost);
      EXPECT_NEAR(replicas.sum("push_weight", 0), weights, 1e-5 * weights);
      EXPECT_NEAR(replicas.sum("hidden.weight.pushed", 3), sum, 1e-5 * sum);
      for (const auto& values : replicas.values("hidden.weight")) {
        EXPECT_NEAR(values[3], sum / weights, 1e-5 * sum / weights);
      }
    }
  }
}

/// In the long run a third of everything is under way.
TEST(Gossip, HasAHalfUnderWayForAStepWhereItOverlaps) {
  Apart replicas(4, 1);
  const float own = replicas.values("hidden.weight.pushed")[1][3];
  replicas.run_to(1);
  EXPECT_EQ(replicas.values("push_weight")[1][0], 0.5F);
  EXPECT_EQ(replicas.values("hidden.weight.pushed")[1][3], own / 2);
  EXPECT_EQ(replicas.values("hidden.weight")[1][3], own) << "nothing has arrived";
  replicas.run_to(kMost);
  EXPECT_NEAR(replicas.values("push_weight")[1][0], 2.0 / 3, 1e-6);
}

Parameters mean_of_replicas(Trial& trial, const Parameters& names) {
  Parameters mean;
  for (const auto& [name, values] : names) {
    const auto replicas = by_replica(trial, name);
    for (std::size_t i = 0; i < values.size(); ++i) {
      double sum = 0;
      for (const auto& replica : replicas) sum += double{replica[i]};
      mean[name].push_back(static_cast<float>(sum / static_cast<double>(replicas.size())));
    }
  }
  return mean;
}

TEST(Gossip, MovesTheMeanByTheGradientOfTheGlobalBatchFirst) {
  TrialOptions run;
  run.steps = 1;
  const Step step = training_of("parabola", 49, kMost);
  Trial single(step, data_of("parabola"), run);
  const Parameters expected = single.parameters();
  const double way = distance(expected, testing_support::first_parameters(step));
  for (const std::int64_t n : {2, 3, 5}) {
    Trial trial(step, data_of("parabola"), options_of(n, 0, 1));
    EXPECT_LT(distance(mean_of_replicas(trial, expected), expected), 1e-5 * way) << n;
  }
}

TEST(Gossip, OfOneWorkerIsSingle) {
  TrialOptions run;
  Trial single(training_of("parabola", 50, kMost), data_of("parabola"), run);
  run.strategy = "gossip";
  Trial alone(training_of("parabola", 50, kMost), data_of("parabola"), run);
  EXPECT_EQ(alone.losses(), single.losses());
  EXPECT_EQ(alone.parameters(), single.parameters());
}

}  // namespace
}  // namespace regatta::strategies
