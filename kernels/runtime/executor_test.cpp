// SPDX-License-Identifier: Apache-2.0
//
// Tests the executor: a parabola against an independent plain loop, memory that is shared safely,
// and steps that allocate nothing.
#include "kernels/runtime/executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kernels/base/error_for_test.h"
#include "kernels/cpu/lacks_for_test.h"
#include "kernels/graph/builder.h"
#include "kernels/rewrite/winograd.h"
#include "kernels/runtime/count_allocations_for_test.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/test_support.h"
#include "strategies/test_support.h"
#include "workloads/narrow_for_test.h"
#include "workloads/plain_parabola.h"

namespace regatta {
namespace {

using namespace testing_support;

/// airbench94_narrow with two groups of normalisation in a batch.
Step images(ElementType element) {
  workloads::Recipe recipe;
  recipe.global_batch = 64;
  recipe.train_examples = 256;
  recipe.total_examples = 100 * recipe.global_batch;
  recipe.data_weights = workloads::data_weights_of(airbench94_narrow(), shapes());
  recipe.element = element;
  return airbench94_narrow().training(recipe);
}

/// The parabola with momentum; its hidden bias learns in the first `learning_steps` steps only.
Step partly_frozen(std::int64_t steps, std::int64_t learning_steps) {
  Step step = parabola(steps);
  Graph graph;
  graph.copy_variables_of(step.graph);
  for (Node node : step.graph.nodes()) {
    if (node.op == Op::Sgd) node.attributes.set("momentum", 0.5);
    if (node.op == Op::Sgd && step.graph.variable(node.variables[0]).name == "hidden.bias") {
      const auto end = static_cast<double>(learning_steps * 50);
      node.attributes.set("schedule_examples", std::vector<double>{0, end, 2 * end});
      node.attributes.set("schedule_values", std::vector<double>{0.01, 0, 0});
    }
    graph.add(std::move(node));
  }
  step.graph = graph;
  return step;
}

/// The first element of the first variable with this name.
float first_element(Trial& trial, const std::string& name) {
  for (VariableId v = 0; v < static_cast<VariableId>(trial.graph().variables().size()); ++v) {
    if (trial.graph().variable(v).name == name) return trial.executor().variable(v).tensor.f32()[0];
  }
  ADD_FAILURE() << "no variable " << name;
  return 0;
}

TEST(Executor, LeavesOutWhatNoLongerMatters) {
  for (const char* strategy : {"single", "all_reduce", "in_graph", "async_shared"}) {
    SCOPED_TRACE(strategy);
    TrialOptions options;
    options.strategy = strategy;
    options.options.replicas = std::string(strategy) == "single" ? 1 : 2;
    options.most_steps = 40;
    if (std::string(strategy) == "async_shared") options.options.given["staleness_bound"] = 0;
    const Step step = partly_frozen(40, 10);
    options.steps = 0;
    Trial trial(step, curve(), options);
    const float first = trial.parameters()["hidden.bias"][0];
    trial.executor().run(12 * step.global_batch);  // in async_shared a loop may be a step behind
    auto learned = trial.parameters();
    const float velocity = first_element(trial, "hidden.bias.velocity");
    const float other_velocity = first_element(trial, "output.weight.velocity");
    trial.executor().run(40 * step.global_batch);
    EXPECT_NE(learned["hidden.bias"][0], first);
    EXPECT_EQ(trial.parameters()["hidden.bias"][0], learned["hidden.bias"][0]);
    EXPECT_NE(trial.parameters()["output.weight"][0], learned["output.weight"][0]);
    // Any update would change a velocity, even at a rate of zero.
    EXPECT_EQ(first_element(trial, "hidden.bias.velocity"), velocity);
    EXPECT_NE(first_element(trial, "output.weight.velocity"), other_velocity);
  }
}

TEST(Executor, ParabolaFollowsAnIndependentPlainLoop) {
  TrialOptions none;
  none.steps = 0;
  const auto start = Trial(parabola(0), curve(), none).parameters();
  workloads::PlainParabola plain;
  std::ranges::copy(curve().inputs.as<float>(), plain.x.begin());
  std::ranges::copy(curve().targets.as<float>(), plain.y.begin());
  std::ranges::copy(start.at("hidden.weight"), plain.w1.begin());
  std::ranges::copy(start.at("output.weight"), plain.w2.begin());
  TrialOptions options;
  options.steps = 2000;
  const std::vector<float> losses = Trial(parabola(2000), curve(), options).losses();
  // Over 2,000 steps of a descent that contracts, rounding stays near 1e-5.
  for (std::size_t k = 0; k < losses.size(); ++k) {
    const double expected = workloads::plain_step_o2(plain);
    ASSERT_NEAR(losses[k], expected, 1e-3 * expected + 1e-6) << "step " << k;
  }
  EXPECT_LT(losses.back(), 0.1 * losses.front());
}

TEST(Executor, AFailureOnOneReplicaEndsTheOthers) {
  DataSet broken = curve();
  broken.targets.as<float>()[49] =
      std::numeric_limits<float>::infinity();  // in the last replica's share
  for (const char* strategy : {"all_reduce", "in_graph", "central_storage", "async_shared"}) {
    TrialOptions options;
    options.strategy = strategy;
    options.options.replicas = 3;
    options.steps = 200'000;  // enough for every asynchronous replica to get its turn
    const std::string error = error_of([&] { Trial run(parabola(200'000), broken, options); });
    EXPECT_NE(error.find("on replica2"), std::string::npos) << error;
  }
}

/// The number of allocations in the given number of steps, after some to warm up.
std::int64_t allocations_of(const Step& step, const DataSet& data, const std::string& strategy,
                            std::int64_t steps) {
  const strategies::Strategy& named = *strategies::find_strategies(strategy).front();
  TrialOptions options;
  options.strategy = strategy;
  options.options.replicas = named.workers == strategies::WorkersAre::Replicas ? 2 : 1;
  options.options.stages = strategies::share_a_replica(named.workers) ? 2 : 1;
  options.options.shards = options.options.stages;
  if (strategy == "pipeline") options.options.given = {{"microbatches", 2}};
  options.change = [](Step& part, KernelTable&) { part = by_winograd(part); };
  options.steps = 3;
  options.most_steps = 10'000;
  Trial run(step, data, options);
  const std::int64_t before = allocation_count();
  run.executor().run((3 + steps) * step.global_batch);
  return allocation_count() - before;
}

/// Covers each strategy in one process; strategies/parameter_server_allocation_test.cpp: gRPC.
TEST(Executor, StepsAllocateNothing) {
  for (const strategies::Strategy* each : strategies::all_strategies()) {
    const std::string strategy = strategies::runnable_name(*each);
    SCOPED_TRACE(strategy);
    if (each->trains == strategies::Trains::Sequences) {
      const Step step = testing_support::training_of("gpt_narrow", 6, 10);
      EXPECT_EQ(allocations_of(step, testing_support::data_of("gpt_narrow"), strategy, 4), 0);
      continue;
    }
    EXPECT_EQ(allocations_of(parabola(0), curve(), strategy, 100), 0);
    EXPECT_EQ(allocations_of(images(ElementType::F32), shapes(), strategy, 4), 0);
    if (!cpu::why_cpu_lacks(ElementType::BF16).empty()) continue;
    EXPECT_EQ(allocations_of(images(ElementType::BF16), shapes(), strategy, 4), 0);
  }
}

TEST(Executor, SharesMemoryAndComputesTheSame) {
  TrialOptions options;
  options.steps = 3;
  Trial run(thin(64, 3), shapes(), options);
  EXPECT_LT(run.executor().planned_bytes(), run.executor().unshared_bytes() * 3 / 4);
}

TEST(MemoryPlan, OfPlacesIsThatOfTheExecutor) {
  for (const char* strategy : {"single", "in_graph", "sharded"}) {
    TrialOptions options;
    options.strategy = strategy;
    options.options.replicas = std::string(strategy) == "single" ? 1 : 2;
    options.steps = 0;
    options.most_steps = 1;
    Trial run(thin(64, 1), shapes(), options);
    std::int64_t sum = 0;
    for (const WorkerReport& worker : run.executor().workers()) {
      EXPECT_GT(worker.planned_bytes, 0) << strategy;
      sum += worker.planned_bytes;
    }
    EXPECT_EQ(sum, run.executor().planned_bytes()) << strategy;
  }
}

WorkerReport planned(std::int64_t batch, const char* strategy, std::int64_t replicas) {
  TrialOptions options;
  options.strategy = strategy;
  options.options.replicas = replicas;
  options.steps = 0;
  options.most_steps = 1;
  return Trial(thin(batch, 1), shapes(), options).executor().workers().front();
}

TEST(MemoryPlan, IsSplitByPurpose) {
  const WorkerReport whole = planned(64, "single", 1), half = planned(32, "single", 1);
  const WorkerReport shares = planned(64, "sharded", 2);
  EXPECT_EQ(whole.parameter_bytes, half.parameter_bytes);
  EXPECT_GT(whole.parameter_bytes, whole.slot_bytes);  // running statistics have no momentum
  EXPECT_NEAR(shares.slot_bytes, whole.slot_bytes / 2, 1024);
  EXPECT_NEAR(static_cast<double>(whole.activation_bytes) / half.activation_bytes, 2, 0.05);
  EXPECT_GT(whole.gradient_bytes, 0);
  EXPECT_LE(
      whole.parameter_bytes + whole.slot_bytes + whole.activation_bytes + whole.gradient_bytes,
      whole.planned_bytes);
}

TEST(MemoryPlan, GivesValuesThatLiveTogetherTheirOwnBytes) {
  const Step part = strategies::partitioned(thin(64, 1), Binding{}).front();
  const Plan plan(part, PlanOptions{});
  const MemoryPlan memory = plan_memory(part.graph, plan);
  // A node's inputs and outputs are live at the same time.
  for (NodeId id = 0; id < std::ssize(part.graph.nodes()); ++id) {
    const Node& node = part.graph.node(id);
    for (Value input : node.inputs) {
      for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) {
        const Storage& from = plan.storage(input);
        const Storage& to = plan.storage({id, i});
        if (from.variable >= 0 || to.variable >= 0 || from.owner == to.owner) continue;
        const auto a = memory.addresses.at(from.owner);
        const auto b = memory.addresses.at(to.owner);
        const std::int64_t a_end = a.offset + part.graph.type(from.owner).bytes();
        const std::int64_t b_end = b.offset + part.graph.type(to.owner).bytes();
        EXPECT_TRUE(a.lane != b.lane || a_end <= b.offset || b_end <= a.offset) << id;
      }
    }
  }
}

TEST(Plan, GathersCastsOfVariablesBehindTheFirstWhereKernelsMerge) {
  const Step part = strategies::partitioned(images(ElementType::BF16), Binding{}).front();
  PlanOptions options;
  const auto casts = [&] {
    const Plan plan(part, options);
    std::string runs;  // c: casts of a variable, o: other nodes; one letter for a run of equal ones
    for (const Instruction& instruction : plan.lanes().front().instructions) {
      const Node& node = part.graph.node(instruction.node);
      const bool is_cast = node.op == Op::Cast && plan.storage(node.inputs[0]).variable >= 0;
      const char kind = is_cast ? 'c' : 'o';
      if (runs.empty() || runs.back() != kind) runs += kind;
      EXPECT_EQ(plan.index_of(instruction.node),
                &instruction - plan.lanes().front().instructions.data());
    }
    return runs;
  };
  EXPECT_GT(casts().size(), 5U);
  options.gathers_casts = [](const Place&) { return true; };
  EXPECT_EQ(casts(), "oco");
}

/// Two members of an all_reduce in lanes of their own, and a reader of its output behind a view.
TEST(Plan, AReaderBehindAViewWaitsForTheAllReduce) {
  Step step;
  for (int r = 0; r < 2; ++r) {
    Builder builder(step.graph);
    builder.at({.replica = r}).layer("layer");
    const auto data = builder.input_features({.batch = 4, .offset = 0, .global_batch = 4}, 6, 1);
    const Value sum = builder.all_reduce(
        builder.tanh(data[0]), {.group = 0, .member = r, .members = 2, .algorithm = "ring"});
    builder.tanh(builder.reshape(sum, {2, 3}));
  }
  const Plan plan(step, PlanOptions{.inline_bytes = 0});
  for (const LanePlan& lane : plan.lanes()) {
    if (lane.communication) continue;
    const std::vector<Dependency>& waits = lane.instructions.back().waits;
    ASSERT_EQ(waits.size(), 1U);
    EXPECT_TRUE(plan.lanes()[static_cast<std::size_t>(waits[0].lane)].communication);
  }
}

/// Replica 1 returns a result for each of two values: the second value can arrive while the first
/// is in use. A result lives until its send is over.
TEST(Plan, ReceivesFromWorkersBesideWhatItSends) {
  Step step;
  Builder builder(step.graph);
  const Place here{.replica = 0}, there{.replica = 1};
  Value value =
      builder.at(here).input_features({.batch = 4, .offset = 0, .global_batch = 4}, 6, 1)[0];
  for (int i = 0; i < 2; ++i) {
    const Value made = builder.at(there).tanh(value);
    value = builder.at(here).tanh(made);
  }
  step.global_batch = 4;
  const Binding binding{.processes = 2, .process_of = [](const Place& p) { return p.replica; }};
  const Step part = strategies::partitioned(step, binding)[1];
  const Plan plan(part, PlanOptions{.inline_bytes = 0});
  std::vector<std::string> lanes;
  for (const LanePlan& lane : plan.lanes()) {
    std::string& text = lanes.emplace_back();
    for (const Instruction& instruction : lane.instructions) {
      text += std::string(to_string(part.graph.node(instruction.node).op)) + ' ';
    }
  }
  EXPECT_EQ(lanes, (std::vector<std::string>{"receive receive ", "tanh tanh ", "send send sent "}));
  const MemoryPlan memory = plan_memory(part.graph, plan);
  EXPECT_EQ(memory.arena_bytes[1], memory.sum_of_values / 2) << "both are kept, for two receives";
}

}  // namespace
}  // namespace regatta
