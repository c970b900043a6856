// SPDX-License-Identifier: Apache-2.0
//
// A run in two executors: the second begins where the first has ended, with its variables and the
// positions of its loops, and gives the bits of a run in one piece. Asynchronous loops have no
// reproducible bits; they continue from their own steps, within their bound.
#include <gtest/gtest.h>

#include "kernels/cpu/lacks_for_test.h"
#include "kernels/runtime/loops/clock_watch_for_test.h"
#include "kernels/runtime/resume_for_test.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using testing_support::ClockWatch;
using testing_support::copy_variables;
using testing_support::data_of;
using testing_support::identifier_of;
using testing_support::positions_of;
using testing_support::training_of;
using testing_support::Trial;
using testing_support::TrialOptions;

struct Case {
  std::string workload;
  std::string strategy;
  std::int64_t replicas = 1;
  std::int64_t stages = 1;
  std::int64_t shards = 1;
  std::int64_t global_batch = 32;
  std::int64_t steps = 10;
  std::int64_t first_steps = 6;
  ElementType element = ElementType::F32;
  OptionValues options = {};
};

std::string name_of(const testing::TestParamInfo<Case>& test) {
  std::string options;
  for (const auto& [name, value] : test.param.options) options += "_" + name + "_" + to_text(value);
  return test.param.workload + "_" + identifier_of(test.param.strategy) + "_" +
         std::string(to_string(test.param.element)) + options;
}

/// Built for the whole run, and not started yet.
Trial trial_of(const Case& test, std::optional<std::int64_t> bound = {},
               ClockWatch* watch = nullptr) {
  TrialOptions options;
  options.strategy = test.strategy;
  options.options.replicas = test.replicas;
  options.options.stages = test.stages;
  options.options.shards = test.shards;
  options.options.given = test.options;
  options.options.given["servers"] = 2;
  options.options.given["rank"] = 1;
  options.steps = 0;
  options.most_steps = test.steps;
  if (bound) options.options.given["staleness_bound"] = *bound;
  options.watch = watch;
  const Step step = training_of(test.workload, test.global_batch, test.steps, test.element);
  return {step, data_of(test.workload), options};
}

std::vector<std::vector<char>> memory_of(Trial& trial) {
  std::vector<std::vector<char>> memory;
  for (VariableId v = 0; v < static_cast<VariableId>(trial.graph().variables().size()); ++v) {
    const Tensor& tensor = trial.executor().variable(v).tensor;
    memory.emplace_back(tensor.as<char>(), tensor.as<char>() + tensor.type.bytes());
  }
  return memory;
}

std::vector<float> losses_of(Trial& first, Trial& second) {
  std::vector<float> losses = first.losses();
  const std::vector<float> later = second.losses();
  losses.insert(losses.end(), later.begin(), later.end());
  return losses;
}

class Resumed : public testing::TestWithParam<Case> {};

TEST_P(Resumed, GivesTheBitsOfARunInOnePiece) {
  const Case& test = GetParam();
  if (const std::string why = cpu::why_cpu_lacks(test.element); !why.empty()) GTEST_SKIP() << why;
  Trial whole = trial_of(test);
  whole.executor().run(test.steps * test.global_batch);
  Trial first = trial_of(test);
  first.executor().run(test.first_steps * test.global_batch);
  Trial second = trial_of(test);
  copy_variables(first.executor(), second.executor());
  second.executor().begin_at(positions_of(first.executor()));
  EXPECT_EQ(second.executor().examples_seen(), test.first_steps * test.global_batch);
  second.executor().run(test.steps * test.global_batch);
  EXPECT_EQ(losses_of(first, second), whole.losses());
  EXPECT_EQ(memory_of(second), memory_of(whole));
  EXPECT_EQ(second.executor().workers().at(0).steps, test.steps - test.first_steps);
}

/// Uneven shares on the parabola; slots, statistics and augmentation on images; bf16 with
/// lookahead, due in the second executor's first step, the fifth; Adam.
std::vector<Case> cases() {
  std::vector<Case> cases;
  for (const char* strategy : {"single",
                               "in_graph",
                               "central_storage",
                               "all_reduce",
                               "sharded",
                               "local_sgd",
                               "diloco",
                               "gossip",
                               "all_reduce+powersgd",
                               "all_reduce+top_k",
                               "all_reduce+bf16_compress",
                               "all_reduce+quantized",
                               "diloco+top_k",
                               "sharded+powersgd",
                               "sharded+top_k",
                               "parameter_server+top_k",
                               "parameter_server",
                               "model_parallel",
                               "all_reduce+model_parallel",
                               "tensor_parallel",
                               "all_reduce+tensor_parallel",
                               "all_reduce+model_parallel+tensor_parallel"}) {
    const std::string name = strategy;
    const std::int64_t stages = name.find("model_parallel") != std::string::npos ? 2 : 1;
    const std::int64_t shards = name.find("tensor_parallel") != std::string::npos ? 2 : 1;
    const bool alone = stages * shards > 1 && name.find('+') == std::string::npos;
    const std::int64_t replicas = name == "single" || alone ? 1 : 3;
    cases.push_back({.workload = "parabola",
                     .strategy = name,
                     .replicas = replicas,
                     .stages = stages,
                     .shards = shards,
                     .global_batch = 49});
    cases.push_back({.workload = "resnet9_narrow",
                     .strategy = name,
                     .replicas = std::min<std::int64_t>(replicas, 2),
                     .stages = stages,
                     .shards = shards});
  }
  cases.push_back({.workload = "gpt_narrow", .strategy = "context_parallel", .shards = 2});
  // An exchange of the first executor's last step is applied in the second's first.
  cases.push_back({.workload = "parabola",
                   .strategy = "diloco",
                   .replicas = 3,
                   .global_batch = 49,
                   .options = {{"delay", 2}, {"sync_every", 5}}});
  cases.push_back({.workload = "parabola",
                   .strategy = "gossip",
                   .replicas = 3,
                   .global_batch = 49,
                   .options = {{"overlap", 1}}});
  for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zero_bubble"}) {
    for (const char* strategy : {"pipeline", "all_reduce+pipeline"}) {
      const std::int64_t replicas = std::string(strategy) == "pipeline" ? 1 : 2;
      const bool interleaves = std::string(schedule) == "interleaved";
      const OptionValues options{{"schedule", std::string(schedule)}, {"microbatches", 4}};
      if (!interleaves) {  // the parabola has three layers
        cases.push_back({.workload = "parabola",
                         .strategy = strategy,
                         .replicas = replicas,
                         .stages = 3,
                         .global_batch = 49,
                         .options = options});
      }
      cases.push_back({.workload = "resnet9_narrow",
                       .strategy = strategy,
                       .replicas = replicas,
                       .stages = 2,
                       .global_batch = 32,
                       .options = options});
    }
  }
  for (const char* strategy : {"single", "all_reduce", "sharded"}) {
    const std::int64_t replicas = std::string(strategy) == "single" ? 1 : 2;
    cases.push_back({.workload = "airbench94_narrow",
                     .strategy = strategy,
                     .replicas = replicas,
                     .global_batch = 64,
                     .steps = 6,
                     .first_steps = 4,
                     .element = ElementType::BF16});
    cases.push_back({.workload = "mobilenet_v2_narrow",
                     .strategy = strategy,
                     .replicas = replicas,
                     .global_batch = 16,
                     .steps = 4,
                     .first_steps = 2});
  }
  return cases;
}

std::vector<Case> cases_of(const std::string& workload) {
  std::vector<Case> all = cases();
  std::erase_if(all, [&](const Case& test) { return test.workload != workload; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Parabola, Resumed, testing::ValuesIn(cases_of("parabola")), name_of);
INSTANTIATE_TEST_SUITE_P(Narrow, Resumed, testing::ValuesIn(cases_of("resnet9_narrow")), name_of);
INSTANTIATE_TEST_SUITE_P(Airbench94, Resumed, testing::ValuesIn(cases_of("airbench94_narrow")),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Language, Resumed, testing::ValuesIn(cases_of("gpt_narrow")), name_of);
INSTANTIATE_TEST_SUITE_P(MobileNet, Resumed, testing::ValuesIn(cases_of("mobilenet_v2_narrow")),
                         name_of);

TEST(Resume, WouldGiveOtherBitsWithoutThePositions) {
  const Case test{.workload = "resnet9_thin", .strategy = "single"};
  Trial whole = trial_of(test);
  whole.executor().run(10 * 32);
  Trial first = trial_of(test);
  first.executor().run(6 * 32);
  Trial second = trial_of(test);
  copy_variables(first.executor(), second.executor());
  second.executor().run(4 * 32);
  EXPECT_NE(losses_of(first, second), whole.losses());
}

class ResumedLoops : public testing::TestWithParam<std::string> {};

TEST_P(ResumedLoops, GoOnFromTheirOwnSteps) {
  const Case test{.workload = "parabola",
                  .strategy = GetParam(),
                  .replicas = 2,
                  .global_batch = 50,
                  .steps = 400};
  Trial first = trial_of(test);
  first.executor().run(200 * 50);
  Trial second = trial_of(test);
  copy_variables(first.executor(), second.executor());
  second.executor().begin_at(positions_of(first.executor()));
  const std::int64_t seen = first.executor().examples_seen();
  EXPECT_EQ(second.executor().examples_seen(), seen);
  second.executor().run(400 * 50);
  std::int64_t examples = seen;
  for (const LoopReport& loop : second.executor().loops()) {
    examples += loop.steps * 25;
    for (std::int64_t before : loop.examples) EXPECT_GE(before, seen);
  }
  EXPECT_EQ(second.executor().examples_seen(), examples);
  EXPECT_GE(examples, 400 * 50);
  EXPECT_LE(examples, 400 * 50 + 25);
}

INSTANTIATE_TEST_SUITE_P(Under, ResumedLoops,
                         testing::Values("async_shared", "ad_psgd", "parameter_server_async"),
                         [](const auto& test) { return test.param; });

TEST(Resume, KeepsTheBoundOnLoopsThatStandApart) {
  const Case test{.workload = "parabola",
                  .strategy = "parameter_server_async",
                  .replicas = 2,
                  .global_batch = 50,
                  .steps = 100};
  ClockWatch watch;
  Trial trial = trial_of(test, 1, &watch);
  trial.executor().begin_at({.loops = {{.number = 0, .steps = 11, .last_examples = 500},
                                       {.number = 1, .steps = 10, .last_examples = 475}}});
  watch.begin_at(0, 11);
  watch.begin_at(1, 10);
  trial.executor().run(100 * 50);
  const auto loops = trial.executor().loops();
  EXPECT_GT(watch.begins(), 0);
  EXPECT_LE(watch.largest_lead(), 1);
  EXPECT_LE(std::abs(loops[0].steps + 11 - (loops[1].steps + 10)), 2);
}

}  // namespace
}  // namespace regatta
