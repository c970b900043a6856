// SPDX-License-Identifier: Apache-2.0
#include "workloads/workload.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "harness/system/folder_for_test.h"
#include "kernels/base/error_for_test.h"
#include "kernels/distribute/traffic.h"
#include "kernels/runtime/schedule.h"
#include "workloads/shared_options.h"

namespace regatta::workloads {
namespace {

using regatta::testing_support::error_of;

TEST(Workloads, KnowTheSizesOfDataSetsThatTheyCanMake) {
  for (const std::string name : {"curve", "shapes"}) {
    const std::string user = name == "curve" ? "parabola" : "resnet9_thin";
    const DataSets data = load_data(find_workload(user), name, {});
    const auto sizes = data_set_sizes(name);
    ASSERT_TRUE(sizes.has_value());
    EXPECT_EQ(sizes->train, data.train.count);
    EXPECT_EQ(sizes->test, data.test.count);
  }
  for (const Workload& workload : all_workloads()) {
    for (const std::string_view name : workload.data_sets) {
      const DataSource* source = find_data_source(name);
      ASSERT_NE(source, nullptr) << name;
      EXPECT_TRUE(source->sizes.has_value() || source->sizes_of != nullptr) << name;
    }
  }
  EXPECT_FALSE(data_set_sizes("imagenet").has_value());
}

TEST(Workloads, ReadSequencesOfTheirContext) {
  const Workload reader{.name = "reader",
                        .data_sets = {"pairs", "text"},
                        .options = {{&kContext, 8}, {&kVocabulary, 16}}};
  const DataSets pairs = load_data(reader, "pairs", {});
  EXPECT_EQ(pairs.train.inputs.dims, std::vector<std::int64_t>{8});
  EXPECT_EQ(pairs.train.count, sizes_of(reader, "pairs", {}).train);
  EXPECT_EQ(pairs.test.count, sizes_of(reader, "pairs", {}).test);
  EXPECT_EQ(pairs.train.digest.size(), 32U);
  EXPECT_EQ(load_data(reader, "pairs", {.options = {{{"context", 4}}}}).test.inputs.dims.front(),
            4);
  EXPECT_THROW((void)load_data(reader, "pairs", {.options = {{{"vocabulary", 15}}}}), RunError);
  EXPECT_FALSE(data_set_sizes("text").has_value());
  EXPECT_THROW((void)sizes_of(reader, "text", {.folder = "absent"}), RunError);
}

TEST(Workloads, ReadTextFromTheFolderThatIsGiven) {
  const testing_support::ScratchFolder folder;
  std::ofstream(folder.path() / "text") << std::string(100, 'a');
  const Workload reader{.name = "reader",
                        .data_sets = {"pairs", "text"},
                        .options = {{&kContext, 4}, {&kVocabulary, 256}}};
  const DataFiles files{.folder = folder.path()};
  const DataSets data = load_data(reader, "text", files);
  EXPECT_EQ(data.train.count, 22);  // of 90 bytes
  EXPECT_EQ(data.test.count, 2);
  EXPECT_EQ(sizes_of(reader, "text", files).train, data.train.count);
  EXPECT_EQ(data.train.digest.size(), 32U);
  EXPECT_NE(data.train.digest, data.test.digest);
  const DataFiles unverified{.folder = folder.path(), .check = DataCheck::Unverified};
  EXPECT_THROW((void)load_data(reader, "text", unverified), RunError);
}

// A first layer is multiplied twice, since inputs have no gradient, and each other layer three
// times. resnet9_thin has three convolutions and two pairs of convolutions of 4,718,592
// multiply-adds for an image.
TEST(Workloads, HaveTheModelFlopsOfTheirProducts) {
  EXPECT_EQ(model_flops(find_workload("parabola").training({.global_batch = 50}).graph),
            2 * 50 * (2 * 5 + 3 * 5));
  const std::int64_t first = 32 * 32 * 16 * 3 * 9, others = 5 * 4'718'592;
  for (const ElementType element : {ElementType::F32, ElementType::BF16}) {
    const Recipe recipe{.global_batch = 64, .total_examples = 640, .element = element};
    EXPECT_EQ(model_flops(find_workload("resnet9_thin").training(recipe).graph),
              2 * 64 * (2 * first + 3 * others + 3 * 128 * 10));
  }
}

TEST(Workloads, GiveLossesInBitsPerByteIfTokensAreBytes) {
  EXPECT_FALSE(bits_per_byte({}, 1));
  EXPECT_DOUBLE_EQ(*bits_per_byte({.context = 8, .vocabulary = 256}, std::log(8)), 3);
  EXPECT_FALSE(bits_per_byte({.context = 8, .vocabulary = 50'257}, 1));
}

Recipe recipe_in_groups(std::int64_t examples) {
  return {.global_batch = 64,
          .train_examples = 640,
          .total_examples = 640,
          .normalization_group = examples};
}

TEST(Workloads, NormaliseOverTheGroupsOfTheRecipe) {
  for (const std::string name : {"resnet9_thin", "resnet9", "mobilenet_v2", "airbench94"}) {
    const Step step = find_workload(name).training(recipe_in_groups(16));
    EXPECT_EQ(step.normalization_group, 16) << name;
    int normalizations = 0;
    for (const Node& node : step.graph.nodes()) {
      if (node.op != Op::Normalize) continue;
      EXPECT_EQ(node.attributes.integer("group"), 16) << name;
      ++normalizations;
    }
    EXPECT_GT(normalizations, 0) << name;
  }
}

TEST(Workloads, RefuseGroupsThatABatchHasNoWholeNumberOf) {
  const std::string error =
      error_of([&] { (void)find_workload("resnet9").training(recipe_in_groups(24)); });
  EXPECT_EQ(error,
            "--global-batch is 64; this workload normalises over groups of 24 examples "
            "(--normalization-group), so it is a multiple of 24");
}

TEST(Workloads, RefuseGroupsWhereNothingIsNormalised) {
  EXPECT_THROW((void)find_workload("parabola").training(recipe_in_groups(2)), RunError);
}

/// The number of channels of the first convolution.
std::int64_t width_of(const Step& step) {
  for (const Node& node : step.graph.nodes()) {
    if (node.op == Op::Convolution) return node.outputs.front().dim(3);
  }
  return 0;
}

TEST(WorkloadOptions, HaveADefaultForEachWorkload) {
  Recipe recipe = recipe_in_groups(16);
  recipe.evaluation_batch = 4;
  for (const auto& [name, width] : {std::pair("resnet9", 64), std::pair("resnet9_thin", 16)}) {
    const Workload& workload = find_workload(name);
    recipe.options.given = {{"servers", 2}};  // a strategy's, which says nothing here
    EXPECT_EQ(width_of(workload.training(recipe)), width);
    recipe.options.given = {{"width", 12}};
    EXPECT_EQ(width_of(workload.training(recipe)), 12);
    EXPECT_EQ(width_of(workload.evaluation(recipe)), 12);
  }
}

TEST(WorkloadOptions, HaveValidDefaultsAndOneDeclarationAName) {
  std::set<std::string_view> names;
  for (const Option* option : all_options()) {
    EXPECT_TRUE(names.insert(option->name).second) << option->name << " is declared twice";
    EXPECT_FALSE(option->help.empty()) << option->name;
  }
  for (const Workload& workload : all_workloads()) {
    for (const auto& [option, default_value] : workload.options) {
      EXPECT_NO_THROW(option->check(default_value)) << workload.name << option->name;
    }
  }
}

TEST(WorkloadOptions, AreRefusedByNameWhereTheyAreNoneOrOutOfRange) {
  const auto refusal = [](const std::string& workload, const OptionValues& given) -> std::string {
    return error_of([&] { (void)chosen_options(find_workload(workload), given); },
                    ErrorKind::Usage);
  };
  EXPECT_EQ(
      refusal("parabola", {{"width", 12}}),
      "--width is an option of gpt_tiny, resnet9_thin, gpt_thin, gpt_small and resnet9; workload "
      "'parabola' has no such option, leave it out");
  EXPECT_EQ(refusal("resnet9", {{"width", 0}}), "--width is 0; 1 to 65536 are possible");
  EXPECT_EQ(refusal("resnet9", {{"width", 12}, {"servers", 2}}), "");
}

/// The rate of each step's update in a run of 240 steps of 64 examples, for the first parameter
/// without a recipe of its own.
std::vector<double> rates_of(const std::string& workload) {
  constexpr std::int64_t kSteps = 240;
  Recipe recipe{.global_batch = 64, .train_examples = 640, .total_examples = 64 * kSteps};
  if (workload.starts_with("airbench94")) recipe.normalization_group = 64;
  const Step step = find_workload(workload).training(recipe);
  for (const Node& node : step.graph.nodes()) {
    const bool updates = node.op == Op::Sgd || node.op == Op::Adam || node.op == Op::Muon;
    const std::string name = updates ? step.graph.variable(node.variables[0]).name : "";
    if (!updates || name == "whiten.bias" || name.ends_with(".shift")) continue;
    const ScheduleFunction rate_at(node.attributes);
    std::vector<double> rates;
    for (std::int64_t k = 0; k < kSteps; ++k) rates.push_back(rate_at(64 * k));
    return rates;
  }
  ADD_FAILURE() << workload << " has no update";
  return {};
}

void expect_rates(const std::vector<double>& rates,
                  const std::vector<std::pair<std::size_t, double>>& expected) {
  for (const auto& [step, rate] : expected) EXPECT_NEAR(rates.at(step), rate, 1e-12) << step;
}

// PiecewiseLinear([0, 5, 24], [0, 0.4, 0]) of (k + 1) / steps of an epoch: the peak comes after
// 5 / 24 of the run, at step 49 of 240 and not at step 50.
TEST(Rates, OfResNet9AreReadAfterTheStepIsCountedAsInTheSource) {
  expect_rates(rates_of("resnet9"), {{0, 0.4 / 50},
                                     {1, 2 * 0.4 / 50},
                                     {48, 49 * 0.4 / 50},
                                     {49, 0.4},
                                     {50, 0.4 * 189 / 190},
                                     {238, 0.4 / 190},
                                     {239, 0}});
  expect_rates(rates_of("resnet9_thin"), {{0, 0.15 / 72},
                                          {1, 2 * 0.15 / 72},
                                          {71, 0.15},
                                          {72, 0.15 * 167 / 168},
                                          {238, 0.15 / 168},
                                          {239, 0}});
}

// get_lr(step) of airbench94.py, read before the step is counted: int(0.23 * 240) = 55.
TEST(Rates, OfAirbench94BeginAtAFifthOfThePeakAsInTheSource) {
  expect_rates(rates_of("airbench94"), {{0, 1.5 * 0.2},
                                        {1, 1.5 * (0.2 + 0.8 / 55)},
                                        {55, 1.5},
                                        {56, 1.5 * (1 - 0.93 / 185)},
                                        {239, 1.5 * (1 - 0.93 * 184 / 185)}});
  expect_rates(rates_of("airbench94_muon"), {{0, 0.24}, {120, 0.12}, {239, 0.001}});
}

// The source steps its cosine once an epoch; here it falls with each step, linearly between 41
// points.
TEST(Rates, OfMobileNetV2AreConstantOrBeginAtThePeak) {
  const std::vector<double> cosine = rates_of("mobilenet_v2_full");
  expect_rates(cosine, {{0, 0.1}, {120, 0.05}});
  EXPECT_NEAR(cosine[1], 0.1, 4e-5);
  EXPECT_NEAR(cosine[239], 0, 4e-5);
  EXPECT_GT(cosine[239], 0);
  expect_rates(rates_of("mobilenet_v2"), {{0, 0.001}, {1, 0.001}, {239, 0.001}});
  expect_rates(rates_of("parabola"), {{0, 0.01}, {1, 0.01}, {239, 0.01}});
}

TEST(Rates, MoveTheWeightsInTheFirstStepOfEveryWorkload) {
  for (const Workload& workload : all_workloads()) {
    EXPECT_GT(rates_of(std::string(workload.name)).front(), 0) << workload.name;
  }
}

}  // namespace
}  // namespace regatta::workloads
