// SPDX-License-Identifier: Apache-2.0
//
// Tests the table of passes and the loop that runs it.
#include "strategies/passes.h"

#include <gtest/gtest.h>

#include <set>

#include "kernels/graph/text.h"
#include "strategies/rewritten_for_test.h"

namespace regatta::strategies {
namespace {

using testing_support::parabola;

TEST(Passes, RunOnceEachInTheOrderOfTheTable) {
  PassInput input;
  input.build = parabola;
  input.strategies = find_strategies("sharded");
  input.options.replicas = 2;
  std::set<std::string_view> names;
  const StepPass* next = all_passes().data();
  std::string last;
  run_passes("build", "partition", Step(), input,
             [&](const StepPass& pass, std::int64_t, std::span<const Step> steps) {
               EXPECT_EQ(&pass, next++);
               EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
               EXPECT_FALSE(pass.why_here.empty()) << pass.name;
               last = to_text(steps.front().graph);
             });
  EXPECT_EQ(names.size(), all_passes().size());
  const Step placed = apply(input.strategies, parabola(), input.options);
  EXPECT_EQ(to_text(partitioned(placed, Binding()).front().graph), last);
}

TEST(Passes, LeaveAStepAloneThatTheyDoNotConcern) {
  const Step step = parabola();
  for (const char* name : {"fuse", "accumulate", "deal", "share", "clip", "winograd", "peers"}) {
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
}  // namespace regatta::strategies
