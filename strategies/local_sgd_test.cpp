// SPDX-License-Identifier: Apache-2.0
//
// The variables of local_sgd's and diloco's replicas between averages and after them, compared with
// replicas that train apart: independent ones with equally large updates, exactly so with two
// workers, because these scale by powers of two.
#include <gtest/gtest.h>

#include <tuple>

#include "strategies/test_support.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

constexpr std::int64_t kBatch = 50;

Trial trial(const Step& step, const std::string& strategy, std::int64_t steps,
            const OptionValues& options = {}) {
  TrialOptions run;
  run.strategy = strategy;
  run.options.replicas = 2;
  run.options.given = options;
  run.steps = steps;
  return {step, data_of("parabola"), run};
}

Step parabola() { return training_of("parabola", kBatch, 100); }

/// Independent replicas use the sum over their half of the global batch instead of its mean; at
/// twice the rate their updates are those of the mean.
Step at_twice_the_rate() {
  Step step = parabola();
  Graph graph;
  graph.copy_variables_of(step.graph);
  for (Node node : step.graph.nodes()) {
    if (node.op == Op::Sgd) {
      EXPECT_EQ(node.attributes.real("weight_decay"), 0);
      std::vector<double> rates = node.attributes.reals("schedule_values");
      for (double& rate : rates) rate *= 2;
      node.attributes.set("schedule_values", rates);
    }
    graph.add(node);
  }
  step.graph = graph;
  return step;
}

Parameters parameters_of(Trial& trial, int replica) {
  Parameters all;
  const Graph& graph = trial.graph();
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    const Variable& variable = graph.variable(v);
    if (variable.kind != VariableKind::Parameter || variable.place.replica != replica) continue;
    const Tensor& tensor = trial.executor().variable(v).tensor;
    all[variable.name] = {tensor.f32(), tensor.f32() + tensor.elements()};
  }
  return all;
}

Parameters mean_of(const Parameters& a, const Parameters& b) {
  Parameters mean = a;
  for (auto& [name, values] : mean) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 0.5F * values[i] + 0.5F * b.at(name)[i];
    }
  }
  return mean;
}

TEST(LocalSgd, TrainsReplicasApartUntilTheFirstAverage) {
  Trial local = trial(parabola(), "local_sgd", 6, {{"sync_every", 7}});
  Trial apart = trial(at_twice_the_rate(), "independent", 6);
  for (int replica : {0, 1}) {
    EXPECT_EQ(parameters_of(local, replica), parameters_of(apart, replica)) << replica;
  }
  EXPECT_NE(parameters_of(local, 0), parameters_of(local, 1));
}

TEST(LocalSgd, ThenHasTheirMeanAtEveryReplica) {
  Trial local = trial(parabola(), "local_sgd", 7, {{"sync_every", 7}});
  Trial apart = trial(at_twice_the_rate(), "independent", 7);
  const Parameters expected = mean_of(parameters_of(apart, 0), parameters_of(apart, 1));
  EXPECT_EQ(parameters_of(local, 0), expected);
  EXPECT_EQ(parameters_of(local, 1), expected);
}

TEST(LocalSgd, AveragesInEveryStepAtTheStartWhereAskedTo) {
  const OptionValues late = {{"sync_every", 7}, {"sync_from", 5}};
  Trial together = trial(parabola(), "local_sgd", 5, late);
  EXPECT_EQ(parameters_of(together, 0), parameters_of(together, 1));
  Trial apart = trial(parabola(), "local_sgd", 6, late);
  EXPECT_NE(parameters_of(apart, 0), parameters_of(apart, 1));
  Trial again = trial(parabola(), "local_sgd", 12, late);
  EXPECT_EQ(parameters_of(again, 0), parameters_of(again, 1));
}

/// The first outer step with Nesterov momentum m and rate r moves by r (1 + m) of the distance.
TEST(Diloco, ThenMovesTheOuterParametersByRateAndMomentum) {
  Trial outer = trial(parabola(), "diloco", 7,
                      {{"sync_every", 7}, {"outer_rate", 0.5}, {"outer_momentum", 0.25}});
  Trial apart = trial(at_twice_the_rate(), "independent", 7);
  const Parameters first = testing_support::first_parameters(parabola());
  const Parameters mean = mean_of(parameters_of(apart, 0), parameters_of(apart, 1));
  Parameters expected = first;
  for (auto& [name, values] : expected) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] -= 0.5F * 1.25F * (first.at(name)[i] - mean.at(name)[i]);
    }
  }
  const double way = distance(mean, first);
  EXPECT_GT(way, 0);
  EXPECT_LT(distance(parameters_of(outer, 0), expected), 1e-5 * way);
  EXPECT_EQ(parameters_of(outer, 0), parameters_of(outer, 1));
}

double way_to(const Parameters& parameters) {
  return distance(parameters, testing_support::first_parameters(parabola()));
}

/// An outer rate of 1 without momentum makes the mean the outer parameters.
OptionValues streaming(std::int64_t fragments, std::int64_t delay, double mix) {
  return {{"sync_every", 6},        {"outer_rate", 1.0}, {"outer_momentum", 0.0},
          {"fragments", fragments}, {"delay", delay},    {"mix", mix}};
}

/// The parabola's four parameters have 5, 5, 5 and 1 elements; the first two form a fragment.
TEST(Diloco, ExchangesAFragmentAtATime) {
  Trial outer = trial(parabola(), "diloco", 3, streaming(2, 0, 0));
  Trial apart = trial(at_twice_the_rate(), "independent", 3);
  const Parameters mean = mean_of(parameters_of(apart, 0), parameters_of(apart, 1));
  for (const int replica : {0, 1}) {
    Parameters expected = parameters_of(apart, replica);
    for (const char* name : {"hidden.weight", "hidden.bias"}) expected[name] = mean.at(name);
    EXPECT_LT(distance(parameters_of(outer, replica), expected), 1e-5 * way_to(mean));
  }
  EXPECT_GT(distance(parameters_of(apart, 0), mean), 1e-3 * way_to(mean));
}

/// Applies the means of step 6 `delay` steps later.
TEST(Diloco, AppliesAnExchangeLaterAndMixesIt) {
  for (const std::int64_t delay : {1, 2, 5}) {
    for (const double mix : {0.0, 0.25}) {
      SCOPED_TRACE(std::to_string(delay) + " " + std::to_string(mix));
      Trial exchanged = trial(at_twice_the_rate(), "independent", 6);
      const Parameters mean = mean_of(parameters_of(exchanged, 0), parameters_of(exchanged, 1));
      Trial before = trial(parabola(), "diloco", 5 + delay, streaming(1, delay, mix));
      Trial before_apart = trial(at_twice_the_rate(), "independent", 5 + delay);
      EXPECT_EQ(parameters_of(before, 1), parameters_of(before_apart, 1));
      Trial outer = trial(parabola(), "diloco", 6 + delay, streaming(1, delay, mix));
      Trial apart = trial(at_twice_the_rate(), "independent", 6 + delay);
      for (const int replica : {0, 1}) {
        Parameters expected = parameters_of(apart, replica);
        for (auto& [name, values] : expected) {
          for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<float>(mix) * values[i] +
                        static_cast<float>(1 - mix) * mean.at(name)[i];
          }
        }
        EXPECT_LT(distance(parameters_of(outer, replica), expected), 1e-5 * way_to(mean));
      }
    }
  }
}

TEST(Diloco, AtARateOfOneWithoutMomentumIsLocalSgd) {
  const OptionValues plain = {{"sync_every", 4}, {"outer_rate", 1.0}, {"outer_momentum", 0.0}};
  Trial outer = trial(parabola(), "diloco", 20, plain);
  Trial local = trial(parabola(), "local_sgd", 20, {{"sync_every", 4}});
  EXPECT_LT(
      distance(parameters_of(outer, 0), parameters_of(local, 0)),
      1e-5 * distance(parameters_of(local, 0), testing_support::first_parameters(parabola())));
}

TEST(Diloco, OfOneWorkerIsSingleThen) {
  TrialOptions run;
  run.steps = 20;
  Trial single(parabola(), data_of("parabola"), run);
  run.strategy = "diloco";
  run.options.given = {{"outer_rate", 1.0}, {"outer_momentum", 0.0}};
  Trial outer(parabola(), data_of("parabola"), run);
  EXPECT_LT(distance(outer.parameters(), single.parameters()),
            1e-5 * distance(single.parameters(), testing_support::first_parameters(parabola())));
}

/// All elements of the outer gradients; each worker adds up two parts, in either order.
TEST(Diloco, WithAllOfItsOuterGradientsSelectedGivesItsBits) {
  OptionValues every_step = streaming(1, 0, 0);
  every_step["sync_every"] = 1;
  for (OptionValues options :
       {every_step, streaming(2, 0, 0), streaming(1, 1, 0.25), streaming(2, 2, 0)}) {
    Trial whole = trial(parabola(), "diloco", 20, options);
    options["share"] = 1.0;
    Trial selected = trial(parabola(), "diloco+top_k", 20, options);
    for (const int replica : {0, 1}) {
      EXPECT_EQ(parameters_of(selected, replica), parameters_of(whole, replica));
    }
  }
}

/// Between exchanges replicas train as under diloco; what is left out arrives at later ones.
TEST(Diloco, ComesCloseByCompressedOuterGradients) {
  const OptionValues plain = {{"sync_every", 4}};
  Trial whole = trial(parabola(), "diloco", 200, plain);
  for (const auto& [compressor, option, value, bound] :
       std::vector<std::tuple<std::string, std::string, OptionValue, double>>{
           {"quantized", "bits", 8, 1e-3},
           {"quantized", "bits", 4, 3e-2},
           {"top_k", "share", 0.4, 1e-1},
           {"powersgd", "rank", 1, 1e-4},
           {"bf16_compress", "sync_every", 4, 3e-2}}) {
    SCOPED_TRACE(compressor);
    OptionValues options = plain;
    options[option] = value;
    const std::string name = "diloco+" + compressor;
    Trial before = trial(parabola(), name, 3, options);
    Trial apart = trial(at_twice_the_rate(), "independent", 3);
    EXPECT_EQ(parameters_of(before, 1), parameters_of(apart, 1));
    Trial outer = trial(parabola(), name, 200, options);
    EXPECT_EQ(parameters_of(outer, 0), parameters_of(outer, 1));
    const double off = distance(outer.parameters(), whole.parameters());
    EXPECT_LT(off, bound * way_to(whole.parameters()));
  }
}

}  // namespace
}  // namespace regatta::strategies
