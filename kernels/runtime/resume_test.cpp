// SPDX-License-Identifier: Apache-2.0
//
// A run in two executors: the second begins where the first has ended, with its variables and the
// positions of its loops, and gives the bits of a run in one piece. Asynchronous loops have no
// reproducible bits; they continue within their bound
// (checkpoint_test.py: from their own steps).
#include <gtest/gtest.h>

#include "kernels/cpu/lacks_for_test.h"
#include "kernels/runtime/loops/clock_watch_for_test.h"
#include "kernels/runtime/resume_for_test.h"
#include "strategies/equivalence_for_test.h"

namespace regatta {
namespace {

using namespace testing_support;

/// Steps in the first executor: six of ten, four of six.
std::int64_t first_steps_of(const Case& test) { return (test.steps + 2) / 2; }

/// Built for the whole run, and not started yet.
Trial trial_of(const Case& test, std::optional<std::int64_t> bound = {},
               ClockWatch* watch = nullptr) {
  TrialOptions options = options_of(test);
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
  first.executor().run(first_steps_of(test) * test.global_batch);
  Trial second = trial_of(test);
  copy_variables(first.executor(), second.executor());
  second.executor().begin_at(positions_of(first.executor()));
  EXPECT_EQ(second.executor().examples_seen(), first_steps_of(test) * test.global_batch);
  second.executor().run(test.steps * test.global_batch);
  EXPECT_EQ(losses_of(first, second), whole.losses());
  EXPECT_EQ(memory_of(second), memory_of(whole));
  EXPECT_EQ(second.executor().workers().at(0).steps, test.steps - first_steps_of(test));
}

/// Uneven shares on the parabola, whose pipeline has three stages; slots, statistics and
/// augmentation on images; bf16 with lookahead, due in the second executor's first step, the fifth;
/// Adam; exchanges of the first executor's last step, which the second applies.
std::vector<Case> cases() {
  const std::string exchanges =
      "{in_graph,central_storage,all_reduce,sharded,local_sgd,diloco,gossip,all_reduce+powersgd,"
      "all_reduce+top_k,all_reduce+bf16_compress,all_reduce+quantized,diloco+top_k,"
      "sharded+powersgd,sharded+top_k,parameter_server+top_k,parameter_server}";
  const std::string schedules = " steps=10 microbatches=4 schedule={gpipe,1f1b,zero_bubble";
  std::vector<Case> all = cases_of(
      "{parabola 49,resnet9_narrow 32} ",
      {"single steps=10", "model_parallel 1x2 steps=10", "tensor_parallel 1x1x2 steps=10"});
  for (const auto& [begin, workers] :
       {std::pair<std::string, std::string>("parabola 49 ", "3"), {"resnet9_narrow 32 ", "2"}}) {
    append(
        cases_of(begin, {exchanges + " " + workers + " steps=10",
                         "all_reduce+model_parallel " + workers + "x2 steps=10",
                         "all_reduce+tensor_parallel " + workers + "x1x2 steps=10",
                         "all_reduce+model_parallel+tensor_parallel " + workers + "x2x2 steps=10"}),
        all);
  }
  append(cases_of("", {"gpt_narrow 32 context_parallel 1x1x2 steps=10",
                       "parabola 49 diloco 3 delay=2 sync_every=5 steps=10",
                       "parabola 49 gossip 3 overlap=1 steps=10",
                       "parabola 49 {pipeline 1x3,all_reduce+pipeline 2x3}" + schedules + "}",
                       "resnet9_narrow 32 {pipeline 1x2,all_reduce+pipeline 2x2}" + schedules +
                           ",interleaved}",
                       "airbench94_narrow 64 {single,all_reduce 2,sharded 2} steps=6 bf16",
                       "mobilenet_v2_narrow 16 {single,all_reduce 2,sharded 2} steps=4"}),
         all);
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, Resumed, testing::ValuesIn(cases()),
                         [](const auto& test) { return name_of(test.param); });

TEST(Resume, KeepsTheBoundOnLoopsThatStandApart) {
  const Case test = case_of("parabola 50 parameter_server_async 2 steps=100");
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
