// SPDX-License-Identifier: Apache-2.0
//
// model_parallel and pipeline as rewrites, alone and after others: their cuts and the bytes that
// cross.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "kernels/base/error_for_test.h"
#include "kernels/distribute/traffic.h"
#include "strategies/rewritten_for_test.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

TEST(ModelParallel, CutsBetweenLayersAndSendsActivationsForwardAndBack) {
  StrategyOptions options;
  options.stages = 2;
  const Graph graph = part(rewritten("model_parallel", options));
  const auto bytes = traffic(graph);
  const Place second{.replica = 0, .stage = 1, .role = Role::Worker};
  // Cut after the hidden layer: 5 activations a point, and the targets for the loss.
  EXPECT_EQ(bytes.at(kWorker0).sent, 50 * 5 * 4 + 50 * 4);
  EXPECT_EQ(bytes.at(second).sent, 50 * 5 * 4);
}

TEST(ModelParallel, RefusesMoreStagesThanParts) {
  StrategyOptions options;
  options.stages = 7;
  EXPECT_THROW(rewritten("model_parallel", options), RunError);
}

TEST(ModelParallel, CutsWhereItsUserSays) {
  const auto bytes_of_second = [](const char* parts) {
    StrategyOptions options;
    options.stages = 2;
    if (*parts != 0) options.given = {{"stage_parts", parts}};
    const Graph graph = part(rewritten("model_parallel", options));
    return traffic(graph).at({.replica = 0, .stage = 1, .role = Role::Worker}).sent;
  };
  EXPECT_EQ(bytes_of_second("1,5"), 50 * 5 * 4);
  EXPECT_EQ(bytes_of_second("5,1"), 50 * 4);  // only the loss is behind the cut
  for (const char* wrong :
       {"6", "5,2", "2,3", "1,4,1", "9223372036854775807,9223372036854775807"}) {
    const std::string error = error_of([&] { bytes_of_second(wrong); });
    EXPECT_EQ(error,
              "strategy 'model_parallel' with 2 stages: --stage-parts takes 2 numbers with a "
              "sum of 6, the parts of this model");
  }
}

TEST(Composition, StagesOfAllReducedReplicasExchangeTheirOwnGradients) {
  StrategyOptions options = replicas(2);
  options.stages = 2;
  const Graph graph = part(rewritten("all_reduce+model_parallel", options));
  EXPECT_EQ(count(graph, Op::AllReduce), 2 * 2);  // a bucket for each stage, two members each
  const Graph other = part(rewritten("model_parallel+all_reduce", options));
  EXPECT_EQ(count(other, Op::AllReduce), 2 * 2);
  EXPECT_EQ(bytes_per_step(graph, 1), bytes_per_step(other, 1));
}

TEST(Pipeline, CutsTheBatchAndAddsGradientsUp) {
  StrategyOptions options;
  options.stages = 2;
  options.given = {{"microbatches", 3}};
  const Step step = rewritten("pipeline", options);
  EXPECT_EQ(count(step.graph, Op::Input), 1);
  EXPECT_EQ(count(step.graph, Op::DenseBackwardWeights), 2 * 3);
  EXPECT_EQ(count(step.graph, Op::Sum), (4 + 1) * 2);  // four parameters and the loss
  EXPECT_EQ(count(step.graph, Op::Sgd), 4);
  EXPECT_EQ(step.losses.size(), 1U);
  // Microbatches do not change the bytes.
  const Place second{.replica = 0, .stage = 1, .role = Role::Worker};
  EXPECT_EQ(traffic(part(step)).at(second).sent, 50 * 5 * 4);
}

TEST(Pipeline, RefusesWhatItCannotCutNamingWhatCanBe) {
  const auto why = [](OptionValues given, std::int64_t stages) {
    StrategyOptions options = replicas(2);
    options.stages = stages;
    options.given = std::move(given);
    return error_of([&] { rewritten("pipeline", options); });
  };
  const auto says = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(why({{"microbatches", 51}}, 2), "1 to 50 are possible");
  says(why({{"chunks", 2}}, 2), "--chunks is an option of --schedule interleaved");
  says(why({{"schedule", "interleaved"}, {"microbatches", 5}}, 2), "a multiple of 2");
  says(why({{"schedule", "interleaved"}}, 4), "4 stages of 2 chunks: this model has 6 parts");
  says(why({}, 7), "1 to 6 stages are possible");
}

}  // namespace
}  // namespace regatta::strategies
