// SPDX-License-Identifier: Apache-2.0
//
// pipeline has the bits of a worker that accumulates over the same microbatches, under every
// schedule; and both follow `single`, including the running statistics.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/distribute/traffic.h"
#include "strategies/equivalence_for_test.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

/// A case with another schedule.
Case with_schedule(Case test, const char* schedule) {
  test.options["schedule"] = schedule;
  return test;
}

class Pipeline : public testing::TestWithParam<Case> {};

TEST_P(Pipeline, ComputesTheBitsOfAccumulationUnderEverySchedule) {
  Case in_turn = GetParam();
  in_turn.strategy = in_turn.replicas > 1 ? "all_reduce" : "single";
  in_turn.stages = 1;
  const Result& accumulated = result_of(in_turn);
  const auto microbatches = std::get<std::int64_t>(in_turn.options.at("microbatches"));
  for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zero_bubble"}) {
    const bool interleaves = std::string(schedule) == "interleaved";
    if (interleaves && microbatches % GetParam().stages != 0) continue;
    const Result& run = result_of(with_schedule(GetParam(), schedule));
    EXPECT_EQ(run.losses, accumulated.losses) << schedule;
    EXPECT_EQ(run.parameters, accumulated.parameters) << schedule;
  }
}

/// The embedding's table is also the head's, at the last stage.
TEST(Pipeline, SendsTheGradientOfATiedWeightOnceAStep) {
  const auto sent = [](std::int64_t microbatches) {
    const Case test =
        case_of("gpt_narrow 12 pipeline 1x2 microbatches=" + std::to_string(microbatches));
    return bytes_sent(
        apply(find_strategies("pipeline"), step_of(test), options_of(test).options).graph, 1);
  };
  EXPECT_EQ(sent(2), sent(6));
}

/// Bytes of activations that stages read of others, whole ones and parts.
struct Read {
  std::int64_t whole = 0, parts = 0;
};

Read read_by_stages(const std::string& cell) {
  const Case test = case_of("gpt_narrow 12 " + cell);
  const Graph graph =
      apply(find_strategies(test.strategy), step_of(test), options_of(test).options).graph;
  std::set<std::pair<Value, Place>> met;
  Read read;
  for (const Node& node : graph.nodes()) {
    for (const Value input : node.inputs) {
      const Node& maker = graph.node(input.node);
      const bool crosses = maker.place.stage != node.place.stage && maker.phase != Phase::Input;
      if (!crosses || !met.insert({input, node.place}).second) continue;
      if (graph.type(input).rank() == 3) read.whole += graph.type(input).bytes();
      if (maker.op == Op::Slice) read.parts += graph.type(input).bytes();
    }
  }
  return read;
}

TEST(Pipeline, SendsAPartOfAnActivationFromEachShardIfAsked) {
  for (const int shards : {2, 3}) {
    const std::string cell = "pipeline+tensor_parallel 1x3x" + std::to_string(shards) +
                             " microbatches=2 scatter_messages=";
    const Read whole = read_by_stages(cell + "no"), parts = read_by_stages(cell + "yes");
    EXPECT_GT(whole.whole, 0);
    EXPECT_EQ(whole.parts, 0);
    EXPECT_EQ(parts.whole, 0);
    EXPECT_EQ(parts.parts * shards, whole.whole);
  }
}

/// At most two replicas: the sum of more depends on which gradients share a bucket.
INSTANTIATE_TEST_SUITE_P(
    All, Pipeline,
    testing::ValuesIn(cases_of("", {"parabola 50 pipeline 1x2 microbatches=5",
                                    "parabola 49 pipeline 1x3 microbatches=4",
                                    "parabola 50 all_reduce+pipeline 2x2 microbatches=7",
                                    "resnet9_thin 80 pipeline 1x2 microbatches=4",
                                    "resnet9_thin 80 pipeline 1x3 microbatches=3",
                                    "resnet9_thin 80 all_reduce+pipeline 2x2 microbatches=2"})),
    [](const auto& test) { return name_of(test.param); });

/// Running means and variances, by name.
std::map<std::string, std::vector<float>> statistics(const Case& test) {
  Trial run(step_of(test), data_of(test.workload), options_of(test));
  std::map<std::string, std::vector<float>> all;
  const Graph& graph = run.graph();
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    if (graph.variable(v).kind != VariableKind::Statistic) continue;
    const Tensor& tensor = run.executor().variable(v).tensor;
    all[graph.variable(v).name].assign(tensor.f32(), tensor.f32() + tensor.elements());
  }
  return all;
}

TEST(Pipeline, TakesRunningStatisticsOfTheWholeBatch) {
  for (const Case& test : cases_of(  // ten groups: shares of 4, 3 and 3
           "resnet9_thin 80 ", {"pipeline 1x2 schedule=1f1b microbatches={2,3}"})) {
    Case in_turn = single_of(test);
    const auto expected = statistics(in_turn);
    ASSERT_FALSE(expected.empty());
    in_turn.options["microbatches"] = test.options.at("microbatches");
    for (const Case& each : {test, in_turn}) {
      const auto found = statistics(each);
      for (const auto& [name, values] : expected) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          EXPECT_NEAR(found.at(name)[i], values[i], 1e-4 * (std::abs(values[i]) + 0.01)) << name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace regatta::strategies
