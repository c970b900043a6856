// SPDX-License-Identifier: Apache-2.0
//
// tensor_parallel as a rewrite: a graph in, a graph with shards out.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "kernels/base/error_for_test.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/text.h"
#include "strategies/chain_for_test.h"
#include "strategies/rewritten_for_test.h"
#include "workloads/model.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

constexpr Place kShard1{.replica = 0, .shard = 1, .role = Role::Worker};

Step workload_step(const char* name) {
  workloads::Recipe recipe;
  recipe.global_batch = 256;
  recipe.train_examples = 256;
  recipe.total_examples = 2560;
  return workloads::find_workload(name).training(recipe);
}

Step sharded_by_channels(const Step& step, std::int64_t shards,
                         const char* strategy = "tensor_parallel", std::int64_t count = 1) {
  StrategyOptions options = replicas(count);
  options.shards = shards;
  return apply(find_strategies(strategy), step, options);
}

/// The dimensions along which the first shard has parts of weights, by name; -1: it has them whole.
std::map<std::string, int> divided_weights(const Step& step) {
  std::map<std::string, int> all;
  for (const Variable& variable : step.graph.variables()) {
    const std::string& name = variable.whole_name();
    if (variable.place != kWorker0 || !name.ends_with(".weight")) continue;
    all[name] = variable.part_of ? static_cast<int>(variable.part_of->along) : -1;
  }
  return all;
}

TEST(TensorParallel, DividesTheTwoLayersOfTheParabola) {
  const Step step = sharded_by_channels(parabola(), 2);
  const std::string text = to_text(step.graph);
  for (const char* line :
       {"variable hidden.weight[0:3] f32[3,1] parameter normal(1) @replica0 rows 0 on of "
        "hidden.weight f32[5,1]\n",
        "variable hidden.weight[3:5] f32[2,1] parameter normal(1) @replica0.shard1 rows 3 on of "
        "hidden.weight f32[5,1]\n",
        "variable hidden.bias[3:5] f32[2] parameter",
        "variable output.weight[:,3:5] f32[1,2] parameter",
        " @replica0.shard1 rows 3 on of output.weight f32[1,5] along dimension 1\n",
        "variable output.bias f32[1] parameter"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  EXPECT_EQ(count(step.graph, Op::Input), 1);
  EXPECT_EQ(count(step.graph, Op::Sgd), 2 * 4);
  EXPECT_EQ(count(step.graph, Op::AllReduce), 2);  // the batch needs no gradient
  EXPECT_EQ(step.losses.size(), 1U);
  EXPECT_EQ(step.trainables.size(), 8U);
}

TEST(TensorParallel, SendsTheBatchAndTwiceTheOutputsOfEverySecondLayer) {
  for (const int shards : {2, 3, 5}) {
    std::int64_t sent = 0;
    for (const auto& [place, bytes] : traffic(part(sharded_by_channels(parabola(), shards)))) {
      sent += bytes.sent;
    }
    EXPECT_EQ(sent, (shards - 1) * (kParabolaInputBytes + 2 * 50 * 4)) << shards;
  }
  // Backward sums tensors as large as the first layer's inputs: four pairs, without the first.
  constexpr std::int64_t kInput = 32 * 32 * 3 * 4 + 4;
  constexpr std::int64_t kPixels = 32 * 32 * 32 + 16 * 16 * 32 + 8 * 8 * 128 + 4 * 4 * 128;
  constexpr std::int64_t kBack = 16 * 16 * 32 + 16 * 16 * 32 + 4 * 4 * 128;
  const Step images = workload_step("resnet9_thin");
  EXPECT_EQ(traffic(part(sharded_by_channels(images, 2))).at(kShard1).sent,
            256 * 4 * (kPixels + kBack));
  EXPECT_EQ(traffic(part(sharded_by_channels(images, 2))).at(kWorker0).sent,
            256 * (kInput + 4 * (kPixels + kBack)));
}

TEST(TensorParallel, DividesConvolutionsTwoByTwoAndLeavesAHeadThatNothingFollowsWhole) {
  const std::map<std::string, int> expected = {
      {"prep.weight", 0},        {"layer1.weight", 3},      {"layer1.res1.weight", 0},
      {"layer1.res2.weight", 3}, {"layer2.weight", 0},      {"layer3.weight", 3},
      {"layer3.res1.weight", 0}, {"layer3.res2.weight", 3}, {"head.weight", -1}};
  const Step step = sharded_by_channels(workload_step("resnet9_thin"), 2);
  EXPECT_EQ(divided_weights(step), expected);
  EXPECT_EQ(count(step.graph, Op::AllReduce), 2 * (4 + 3));
}

TEST(TensorParallel, DividesADenseHeadWhoseInputsAreChannels) {
  const std::map<std::string, int> expected = {{"whiten.weight", 0},   {"block1.1.weight", 3},
                                               {"block1.2.weight", 0}, {"block2.1.weight", 3},
                                               {"block2.2.weight", 0}, {"block3.1.weight", 3},
                                               {"block3.2.weight", 0}, {"head.weight", 1}};
  const Step step = sharded_by_channels(workload_step("airbench94"), 3);
  EXPECT_EQ(divided_weights(step), expected);
  // Lookahead's slow copies of running statistics have the same channels as these.
  for (const Node& node : step.graph.nodes()) {
    if (node.op != Op::Lookahead) continue;
    const Variable& fast = step.graph.variable(node.variables[0]);
    const Variable& slow = step.graph.variable(node.variables[1]);
    EXPECT_EQ(fast.type, slow.type) << fast.name;
    EXPECT_EQ(fast.part_of.has_value(), slow.part_of.has_value()) << fast.name;
  }
}

/// Rows of the table, whose embedding has a term at each shard; logits stay where they are.
TEST(TensorParallel, DividesTheVocabularyAndSendsThreeNumbersOfEachLabel) {
  const Step step = sharded_by_channels(workload_step("gpt_thin"), 2);
  const std::map<std::string, int> weights = divided_weights(step);
  EXPECT_EQ(weights.at("wte.weight"), 0);
  EXPECT_EQ(weights.at("wpe.weight"), -1);
  EXPECT_EQ(count(step.graph, Op::SoftmaxPart), 2);
  EXPECT_EQ(count(step.graph, Op::SoftmaxCrossEntropy), 0);
  constexpr std::int64_t kTokens = 256 * 64, kWidth = 128, kLayers = 4;
  constexpr std::int64_t kSums = 1 + 2 * kLayers + 2 * kLayers + 1;  // embedding, blocks, head
  EXPECT_EQ(traffic(part(step)).at(kShard1).sent,
            kSums * kTokens * kWidth * 4 + 3 * kTokens * 4 + 4);  // the norm of gradients
  for (const Node& node : step.graph.nodes()) {
    if (node.op != Op::Embed && node.op != Op::EmbedBackward) continue;
    EXPECT_EQ(node.attributes.integer("offset"), 128 * node.place.shard);
  }
}

/// Each sum of activations is two halves, of which the second is repeated in backward for the input
/// of each layer that is divided by its outputs: two in each block, and the head. The first half is
/// enough behind the embedding, whose gradient has to be gathered.
TEST(SequenceParallel, SendsOneMoreHalfOfASumForEachLayerDividedByOutputs) {
  for (const int shards : {2, 4}) {
    StrategyOptions options;
    options.shards = shards;
    options.given = {{"sequence_parallel", "yes"}};
    const Step step = apply(find_strategies("tensor_parallel"), workload_step("gpt_thin"), options);
    constexpr std::int64_t kTokens = 256 * 64, kWidth = 128, kLayers = 4;
    constexpr std::int64_t kBackToEmbedding = 1;
    constexpr std::int64_t kHalves = 2 * 4 * kLayers + 1 + 2 + (2 * kLayers + 1) + kBackToEmbedding;
    constexpr std::int64_t kGains = (2 * kLayers + 1) * kWidth;
    std::int64_t sent = 0;
    for (const auto& [place, bytes] : traffic(part(step))) sent += bytes.sent;
    const std::int64_t batch = 2 * kTokens * 4;
    EXPECT_EQ(sent, (shards - 1) * (4 * kHalves * kTokens * kWidth + shards * 12 * kTokens +
                                    2 * 4 * kGains + 2 * 4 + batch))
        << shards;
    for (const Node& node : step.graph.nodes()) {
      if (node.op != Op::LayerNormalize) continue;
      EXPECT_EQ(node.outputs[0].dim(0), kTokens / shards) << node.layer;
    }
    EXPECT_EQ(count(step.graph, Op::Positions), 1);
  }
}

/// A shortcut joins channels that all shards have: the layer before it stays whole.
TEST(TensorParallel, FiltersChannelsOneByOneBetweenTwoLayers) {
  const Step step = sharded_by_channels(workload_step("mobilenet_v2"), 5);
  const std::map<std::string, int> weights = divided_weights(step);
  EXPECT_EQ(weights.at("block5.expand.weight"), 0);
  EXPECT_EQ(weights.at("block5.depthwise.weight"), 0);
  EXPECT_EQ(weights.at("block5.project.weight"), 3);
  EXPECT_EQ(weights.at("block1.shortcut.weight"), 3);
  EXPECT_EQ(weights.at("block2.shortcut.weight"), -1);
  std::multiset<std::int64_t> groups;
  for (const Node& node : step.graph.nodes()) {
    if (node.op == Op::Convolution && node.layer == "block2.depthwise") {
      groups.insert(node.attributes.integer("groups"));
    }
  }
  EXPECT_EQ(groups, (std::multiset<std::int64_t>{19, 19, 19, 19, 20}));
}

/// The places of each group of sums, without those of the norm of gradients.
std::multiset<std::string> groups_of(const Graph& graph) {
  std::map<std::int64_t, std::set<Place>> members;
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::AllReduce) members[node.attributes.integer("group")].insert(node.place);
  }
  std::multiset<std::string> groups;
  for (const auto& [group, places] : members) {
    std::string text;
    for (const Place& place : places) text += to_string(place) + ' ';
    groups.insert(text);
  }
  return groups;
}

TEST(TensorParallel, OfReplicasSumsActivationsInAReplicaAndGradientsOfAShard) {
  const Step step = sharded_by_channels(parabola(), 2, "all_reduce+tensor_parallel", 3);
  EXPECT_EQ(groups_of(part(step)),
            (std::multiset<std::string>{"replica0 replica0.shard1 ", "replica0 replica1 replica2 ",
                                        "replica0.shard1 replica1.shard1 replica2.shard1 ",
                                        "replica1 replica1.shard1 ", "replica2 replica2.shard1 "}));
}

/// The second stage begins behind the hidden layer, and each of two microbatches has its own sum.
TEST(TensorParallel, OfStagesLeavesReplicasAndStagesAloneInWhicheverOrder) {
  StrategyOptions options = replicas(2);
  options.stages = options.shards = 2;
  options.given = {{"microbatches", 2}};
  const auto graph_by = [&](const char* strategy) {
    return apply(find_strategies(strategy), parabola(), options).graph;
  };
  const Graph graph = graph_by("all_reduce+pipeline+tensor_parallel");
  EXPECT_EQ(to_text(graph_by("all_reduce+tensor_parallel+pipeline")), to_text(graph));
  EXPECT_EQ(to_text(graph_by("pipeline+all_reduce+tensor_parallel")), to_text(graph));
  std::multiset<std::string> expected;
  for (const std::string stage : {"", ".stage1"}) {
    for (const std::string shard : {"", ".shard1"}) {
      expected.insert("replica0" + stage + shard + " replica1" + stage + shard + " ");
    }
  }
  for (const std::string of : {"replica0.stage1", "replica1.stage1"}) {
    for (int microbatch = 0; microbatch < 2; ++microbatch) {
      expected.insert(of + " " + of + ".shard1 ");
    }
  }
  EXPECT_EQ(groups_of(graph), expected);
}

/// Dense layers; `shared`: the second uses the weights of the first.
Step three_layers(bool shared) {
  constexpr std::int64_t kWidth = 4;
  const Initializer normal{.kind = Initializer::Kind::Normal, .scale = 0.1, .source = {}};
  workloads::Model model(workloads::Mode::Training);
  model.layer("input");
  const auto points = model.builder().input_features(model.whole(8), kWidth, kWidth);
  Value x = points[0];
  for (int i = 0; i < 3; ++i) {
    model.layer("layer" + std::to_string(shared && i == 1 ? 0 : i));
    x = model.dense(x, kWidth, normal);
  }
  model.layer("loss");
  const Value loss = model.builder().mean_squared_error(x, points[1], 8);
  const SgdOptions sgd{.rate = Schedule::constant(0.001)};
  return model.finish_training(
      loss, {.optimizer = [sgd](const std::string&) { return sgd; }, .global_batch = 8});
}

TEST(TensorParallel, LeavesWeightsWholeThatLayersShare) {
  EXPECT_EQ(divided_weights(sharded_by_channels(three_layers(false), 2)),
            (std::map<std::string, int>{
                {"layer0.weight", 0}, {"layer1.weight", 1}, {"layer2.weight", -1}}));
  StrategyOptions options;
  options.shards = 2;
  EXPECT_THROW(apply(find_strategies("tensor_parallel"), three_layers(true), options), RunError);
}

TEST(TensorParallel, RefusesWhatItCannotDivideNamingWhatCanBe) {
  const auto why = [](const char* strategy, std::int64_t shards) {
    return error_of([&] { sharded_by_channels(parabola(), shards, strategy, 2); },
                    ErrorKind::Usage);
  };
  EXPECT_EQ(why("tensor_parallel", 6),
            "strategy 'tensor_parallel' with 6 shards: layer 'hidden' has 5 channels; fix: give at "
            "most 5 shards");
  EXPECT_EQ(why("tensor_parallel", 1),
            "strategy 'tensor_parallel' with 1 shards: there have to be 2 or more; fix: give "
            "--workers 2, or --shards 2 in a composition");
  const auto why_not_by_tokens = [](const Step& step, std::int64_t shards) {
    StrategyOptions options;
    options.shards = shards;
    options.given = {{"sequence_parallel", "yes"}};
    return error_of([&] { apply(find_strategies("tensor_parallel"), step, options); },
                    ErrorKind::Usage);
  };
  EXPECT_EQ(why_not_by_tokens(workload_step("gpt_thin"), 3),
            "strategy 'tensor_parallel' with 3 shards: --sequence-parallel divides the 64 tokens "
            "of a sequence evenly; fix: give a number of shards of 2, 4");
  EXPECT_EQ(why_not_by_tokens(parabola(), 2),
            "strategy 'tensor_parallel' with 2 shards: --sequence-parallel divides tokens between "
            "layers, and this model has none; fix: leave it out");
  const std::string error = error_of([&] { sharded_by_channels(three_layers(true), 2); });
  EXPECT_EQ(error,
            "strategy 'tensor_parallel' with 2 shards: the model has no layer whose channels "
            "only reach another layer's inputs; fix: use a strategy that divides the batch or "
            "the layers");
}

}  // namespace
}  // namespace regatta::strategies
