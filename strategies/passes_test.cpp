// SPDX-License-Identifier: Apache-2.0
//
// Tests the table of passes and the loop that runs it.
#include "strategies/passes.h"

#include <gtest/gtest.h>

#include <set>

#include "kernels/graph/text.h"
#include "strategies/rewritten_for_test.h"

namespace regatta {
namespace {

using testing_support::parabola;

TEST(Passes, EachHaveANameOfTheirOwnAndAReason) {
  std::set<std::string_view> names;
  for (const StepPass& pass : all_passes()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_FALSE(pass.why_here.empty()) << pass.name;
  }
  EXPECT_EQ(all_passes().front().name, "build");
  EXPECT_EQ(all_passes().back().name, "partition");
}

TEST(Passes, RunOnceEachInTheOrderOfTheTable) {
  const PassInput input{
      .build = parabola, .strategies = find_strategies("sharded"), .options = {.replicas = 2}};
  std::vector<std::string_view> names, ran;
  for (const StepPass& pass : all_passes()) names.push_back(pass.name);
  std::string last;
  const std::vector<Step> parts =
      run_passes("build", "partition", Step(), input,
                 [&](const StepPass& pass, std::int64_t ns, std::span<const Step> steps) {
                   ran.push_back(pass.name);
                   EXPECT_GE(ns, 0);
                   last = to_text(steps.front().graph);
                 });
  EXPECT_EQ(ran, names);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(to_text(parts.front().graph), last);
  const Step placed = apply(find_strategies("sharded"), parabola(), {.replicas = 2});
  EXPECT_EQ(to_text(partitioned(placed, Binding()).front().graph), last);
}

TEST(Passes, LeaveAStepAloneThatTheyDoNotConcern) {
  const Step step = parabola();
  for (const char* name : {"fuse", "share", "winograd", "algorithms", "peers"}) {
    EXPECT_EQ(to_text(run_passes(name, name, step, {}).front().graph), to_text(step.graph)) << name;
  }
}

TEST(PassesDeathTest, NameThePassThatBreaksARule) {
  const auto broken = [] {
    Step step = parabola();
    step.trainables.front().updates.clear();
    return step;
  };
  EXPECT_DEATH(run_passes("build", "build", Step(), {.build = broken}), "after build");
}

}  // namespace
}  // namespace regatta
