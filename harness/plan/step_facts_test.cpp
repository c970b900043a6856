// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/step_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "harness/plan/placement.h"
#include "harness/plan/race_request.h"
#include "kernels/base/error.h"
#include "strategies/passes.h"
#include "workloads/workload.h"

namespace regatta::plan {
namespace {

std::string facts_of_strategy(const std::string& name) {
  workloads::Recipe recipe;
  recipe.global_batch = recipe.train_examples = recipe.total_examples = 48;
  strategies::StrategyOptions options;
  options.replicas = 2;
  const Step step = workloads::find_workload("parabola").training(recipe);
  const StepFacts facts =
      facts_of(strategies::apply(strategies::find_strategies(name), step, options));
  return std::string(facts.sums_gradients ? "sums " : "") +
         (facts.carries_shares ? "carries " : "") + (facts.shares_variables ? "shares " : "") +
         (facts.shares_memory ? "memory " : "") + (facts.needs_the_host ? "host" : "");
}

TEST(StepFacts, AreReadFromTheGraph) {
  EXPECT_EQ(facts_of_strategy("all_reduce"), "sums ");
  EXPECT_EQ(facts_of_strategy("sharded"), "carries ");
  EXPECT_EQ(facts_of_strategy("all_reduce+top_k"), "carries ");
  EXPECT_EQ(facts_of_strategy("async_shared"), "shares memory ");
  EXPECT_EQ(facts_of_strategy("ad_psgd"), "shares ");
  EXPECT_EQ(facts_of_strategy("central_storage"), "host");
  for (const char* name :
       {"in_graph", "independent", "parameter_server", "parameter_server_async"}) {
    EXPECT_EQ(facts_of_strategy(name), "") << name;
  }
}

/// --stage-parts counts the parts of the step after fuse(), which makes one part of several.
TEST(StageParts, AreOfTheStepAsItIsComputed) {
  RaceRequest request;
  request.workload = "resnet9_thin";
  request.strategy = "pipeline";
  request.workers = 2;
  for (const auto& [fusion, parts, other] :
       {std::tuple("on", "7,14", "7,27"), std::tuple("off", "7,27", "7,14")}) {
    request.fusion = fusion;
    request.options = {{"stage_parts", parts}};
    EXPECT_NO_THROW(place(request, 2'048)) << parts;
    request.options = {{"stage_parts", other}};
    EXPECT_THROW(place(request, 2'048), RunError) << other;
  }
}

}  // namespace
}  // namespace regatta::plan
