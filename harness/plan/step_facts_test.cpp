// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/step_facts.h"

#include <gtest/gtest.h>

#include <string>

#include "strategies/strategy.h"
#include "workloads/workload.h"

namespace regatta {
namespace {

std::string facts_of_strategy(const std::string& name) {
  Recipe recipe;
  recipe.global_batch = recipe.train_examples = recipe.total_examples = 48;
  StrategyOptions options;
  options.replicas = 2;
  const Step step = find_workload("parabola").training(recipe);
  const StepFacts facts = facts_of(apply(find_strategies(name), step, options).graph);
  return std::string(facts.sums_gradients ? "sums " : "") +
         (facts.carries_shares ? "carries " : "") + (facts.shares_variables ? "shares " : "") +
         (facts.needs_the_host ? "host" : "");
}

TEST(StepFacts, AreReadFromTheGraph) {
  EXPECT_EQ(facts_of_strategy("all_reduce"), "sums ");
  EXPECT_EQ(facts_of_strategy("sharded"), "carries ");
  EXPECT_EQ(facts_of_strategy("all_reduce+top_k"), "carries ");
  EXPECT_EQ(facts_of_strategy("async_shared"), "shares ");
  EXPECT_EQ(facts_of_strategy("central_storage"), "host");
  for (const char* name :
       {"in_graph", "independent", "parameter_server", "parameter_server_async"}) {
    EXPECT_EQ(facts_of_strategy(name), "") << name;
  }
}

}  // namespace
}  // namespace regatta
