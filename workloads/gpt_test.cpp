// SPDX-License-Identifier: Apache-2.0
//
// gpt_thin against numbers of an independent program: losses and norms of ten steps in double
// precision, from first weights and sequences that both programs make by the same rule. AdamW and
// clipping hide a wrong scale of gradients from losses, so norms are compared, too.
#include "workloads/gpt.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "kernels/base/error_for_test.h"
#include "kernels/base/random.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/builder.h"
#include "kernels/rewrite/clip.h"
#include "kernels/runtime/schedule.h"
#include "strategies/test_support.h"

namespace regatta::workloads {
namespace {

using regatta::testing_support::error_of;
using testing_support::Trial;
using testing_support::TrialOptions;

constexpr std::int64_t kBatch = 12;

/// Rounds to IEEE half precision: 11 bits, and multiples of 2^-24 at least.
float to_half(double x) {
  const double unit = std::ldexp(1.0, std::max(std::ilogb(x), -14) - 10);
  return static_cast<float>(std::nearbyint(x / unit) * unit);
}

/// The first weights of the other program: those of parameter i are draws of stream i.
Step given_weights(Step step) {
  std::uint32_t number = 0;
  for (VariableId v = 0; v < std::ssize(step.graph.variables()); ++v) {
    Variable& variable = step.graph.mutable_variable(v);
    if (variable.kind != VariableKind::Parameter) continue;
    const RandomStream stream(0, Purpose::Weights, number++);
    Initializer& initializer = variable.initializer;
    if (initializer.kind != Initializer::Kind::Normal) continue;
    const auto count = static_cast<std::size_t>(variable.type.elements());
    for (std::uint32_t i = 0; i < count; ++i) {
      const float z = stream.normal(i);
      initializer.values.push_back(to_half(static_cast<float>(initializer.scale) * z));
    }
    initializer.kind = Initializer::Kind::Given;
  }
  return step;
}

/// Takes sequences in the order of the data set.
Step in_order(const Step& step) {
  Step result = step;
  result.graph = Graph();
  result.graph.copy_variables_of(step.graph);
  for (Node node : step.graph.nodes()) {
    if (node.op == Op::Input) node.attributes.set("sequential", std::int64_t{1});
    result.graph.add(std::move(node));
  }
  return result;
}

Step thin() {
  Recipe recipe;
  recipe.global_batch = kBatch;
  recipe.train_examples = 120;
  recipe.total_examples = 1000 * kBatch;
  return in_order(given_weights(gpt_thin().training(recipe)));
}

/// Adds a variable that keeps the squared norm of the last step's gradients.
VariableId keep_norm(Step& step) {
  step = clip_gradients(step);
  for (NodeId id = 0; id < std::ssize(step.graph.nodes()); ++id) {
    if (step.graph.node(id).op != Op::SquaredNorm) continue;
    const VariableId kept = step.graph.add(Variable{
        .name = "norm", .type = {ElementType::F32, {1}}, .kind = VariableKind::Slot, .place = {}});
    Builder(step.graph).in(Phase::Update).assign({id, 0}, kept);
    return kept;
  }
  ADD_FAILURE() << "nothing is clipped";
  return -1;
}

TEST(GptThin, HasTheLossesAndNormsOfAnotherProgram) {
  const double losses[] = {5.548569, 5.467905, 5.402502, 5.282463, 5.155796,
                           5.040347, 4.961005, 4.911027, 4.851421, 4.796402};
  const double norms[] = {3.89720, 4.12535, 4.11021, 3.91346, 3.44110,
                          2.97231, 2.78466, 2.70749, 2.64750, 2.58564};
  const DataSet data = make_pairs(Split::Train, 120, 64);
  Step step = thin();
  const VariableId kept = keep_norm(step);
  TrialOptions options;
  options.steps = 1;
  options.most_steps = 10;
  Trial trial(step, data, options);
  for (std::size_t k = 0; k < 10; ++k) {
    if (k > 0) trial.executor().run(static_cast<std::int64_t>(k + 1) * kBatch);
    EXPECT_NEAR(trial.losses().at(k), losses[k], 1e-5) << k;
    EXPECT_NEAR(std::sqrt(trial.executor().variable(kept).tensor.f32()[0]), norms[k], 2e-5) << k;
  }
}

TEST(GptThin, HasTheNormOfEachGradientOfAnotherProgram) {
  const std::map<std::string, double> norms = {{"wte.weight", 1.337835},
                                               {"wpe.weight", 0.517664},
                                               {"layer0.norm1.gain", 0.006991},
                                               {"layer0.attention.qkv", 0.425159},
                                               {"layer0.attention.proj", 1.306668},
                                               {"layer0.norm2.gain", 0.010390},
                                               {"layer0.mlp.up", 0.468802},
                                               {"layer0.mlp.down", 1.553586},
                                               {"layer3.norm1.gain", 0.007141},
                                               {"layer3.attention.qkv", 0.330591},
                                               {"layer3.attention.proj", 0.847470},
                                               {"layer3.norm2.gain", 0.007189},
                                               {"layer3.mlp.up", 0.358875},
                                               {"layer3.mlp.down", 1.094747},
                                               {"head.norm.gain", 0.021163}};
  const DataSet data = make_pairs(Split::Train, 120, 64);
  Step step = thin();
  step.gradient_clip = 0;
  TrialOptions options;
  options.steps = 1;
  Trial trial(step, data, options);
  std::size_t found = 0;
  for (VariableId v = 0; v < std::ssize(trial.graph().variables()); ++v) {
    const std::string& name = trial.graph().variable(v).name;
    const std::string suffix = ".first_moment";
    if (!name.ends_with(suffix)) continue;
    const auto expected = norms.find(name.substr(0, name.size() - suffix.size()));
    if (expected == norms.end()) continue;
    const Tensor moment = trial.executor().variable(v).tensor;  // a tenth of the gradient
    const double squares =
        std::transform_reduce(moment.f32(), moment.f32() + moment.elements(), 0.0, std::plus<>(),
                              [](float m) { return double{m} * double{m}; });
    EXPECT_NEAR(10 * std::sqrt(squares), expected->second, 1e-5) << name;
    ++found;
  }
  EXPECT_EQ(found, norms.size());
}

TEST(GptThin, HasTheRatesOfItsRecipe) {
  const Step step = thin();
  const ScheduleFunction rate_at(
      step.graph.node(step.trainables.front().updates.front()).attributes);
  const std::pair<std::int64_t, double> rates[] = {
      {0, 2.97030e-5}, {99, 2.97030e-3}, {100, 3e-3}, {550, 1.65e-3}, {999, 3.00008e-4}};
  for (const auto& [k, rate] : rates) {
    EXPECT_NEAR(rate_at(k * kBatch), rate, 5e-8) << k;  // 1.6e-5 of the peak (append_cosine)
  }
}

TEST(Gpt, RefusesHeadsThatDoNotDivideTheWidth) {
  Recipe recipe;
  recipe.global_batch = 2;
  recipe.options.given["heads"] = 3;
  const std::string error = error_of([&] { (void)gpt_thin().training(recipe); });
  EXPECT_EQ(error, "--heads is 3: heads divide the width, which is 128");
}

TEST(Gpt, RefusesHeadsOfAnOddWidthThatRotate) {
  Recipe recipe;
  recipe.global_batch = 2;
  recipe.options.given = {{"block", "llama"}, {"width", 36}, {"heads", 12}};
  EXPECT_THROW((void)gpt_thin().training(recipe), RunError);
  recipe.options.given["width"] = 24;
  EXPECT_NO_THROW((void)gpt_thin().training(recipe));
}

// 6 N + 12 L h S a token, for the N parameters of dense layers.
TEST(GptThin, HasTheModelFlopsOfItsFormula) {
  const std::int64_t parameters = 4 * 12 * 128 * 128 + 256 * 128;
  EXPECT_EQ(model_flops(thin().graph), kBatch * 64 * (6 * parameters + 12 * 4 * 128 * 64));
}

}  // namespace
}  // namespace regatta::workloads
