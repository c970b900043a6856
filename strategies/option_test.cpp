// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/error_for_test.h"
#include "kernels/distribute/partition.h"
#include "strategies/passes.h"
#include "strategies/shared_options.h"
#include "workloads/workload.h"

namespace regatta::strategies {
namespace {

using regatta::testing_support::error_of;
using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string refusal(const std::string& strategy, const OptionValues& given) {
  return error_of([&] { check_options(strategy, given); }, ErrorKind::Usage);
}

const Option& option_named(const std::string& name) {
  for (const Option* option : all_options()) {
    if (option->name == name) return *option;
  }
  throw std::out_of_range(name);
}

TEST(Options, HaveOneDeclarationANameAndAFlag) {
  std::set<std::string_view> names;
  for (const Option* option : all_options()) {
    EXPECT_TRUE(names.insert(option->name).second) << option->name << " is declared twice";
    EXPECT_FALSE(option->help.empty()) << option->name;
    if (const auto default_value = option->default_value()) {
      EXPECT_NO_THROW(option->check(*default_value)) << option->name;
    }
    EXPECT_FALSE(names_of_declarers(*option).empty()) << option->name;
  }
  EXPECT_EQ(option_named("staleness_bound").flag(), "--staleness-bound");
}

TEST(Options, OfWorkloadsHaveOtherNamesThanThoseOfStrategies) {
  for (const Option* option : all_options()) {
    for (const Option* other : workloads::all_options()) EXPECT_NE(option->name, other->name);
  }
}

TEST(Options, OfACompositionAreThoseOfItsParts) {
  const auto options = options_of(find_strategies("all_reduce+model_parallel"));
  EXPECT_EQ(options, (std::vector<const Option*>{&kAlgorithm, &kTorusSides, &kBucketBytes,
                                                 &kStagesPerProcess, &kStageParts}));
  EXPECT_TRUE(options_of(find_strategies("single")).empty());
}

TEST(Options, OfAnotherStrategyAreRefusedByName) {
  EXPECT_EQ(refusal("in_graph", {{"servers", 1}}),
            "--servers is an option of parameter_server and parameter_server_async; strategy "
            "'in_graph' has no such option, leave it out");
  EXPECT_EQ(refusal("gossip", {{"servers", 1}}),
            "--servers is an option of parameter_server and parameter_server_async; strategy "
            "'gossip' has no such option (it has --overlap), leave it out");
  EXPECT_EQ(refusal("parameter_server", {{"servers", 1}, {"bucket_bytes", 0}}), "");
}

TEST(Options, OfAPassBelongToEveryStrategyAndHaveADefaultWhereTheyAreDeclared) {
  EXPECT_EQ(refusal("single", {{"microbatches", 4}}), "");
  EXPECT_EQ(refusal("gossip", {{"microbatches", 0}}),
            "--microbatches is 0; 1 to 1024 are possible");
  EXPECT_EQ(names_of_declarers(kMicrobatches), "every strategy");
  EXPECT_TRUE(has_default("all_reduce+pipeline", kMicrobatches));
  EXPECT_FALSE(has_default("all_reduce", kMicrobatches));
  EXPECT_TRUE(has_default("gone", kServers));
  EXPECT_EQ(refusal("gossip", {{"recompute", "all"}}),
            "unknown recompute 'all' (valid: none selective full sums)");
  EXPECT_TRUE(changes_nothing(kRecompute, "none"));
  EXPECT_FALSE(changes_nothing(kMicrobatches, std::int64_t{4}));
}

TEST(Options, OutsideTheirRangeAreRefused) {
  EXPECT_EQ(refusal("parameter_server", {{"servers", 0}}),
            "--servers is 0; 1 to 1024 are possible");
  EXPECT_EQ(refusal("parameter_server", {{"backup_workers", 1025}}),
            "--backup-workers is 1025; 0 to 1024 are possible");
  EXPECT_EQ(refusal("async_shared", {{"staleness_bound", -1}}),
            "--staleness-bound is -1; 0 or more is possible");
  EXPECT_EQ(refusal("parameter_server", {{"servers", "many"}}),
            "--servers is many, which is of another type");
  EXPECT_EQ(refusal("async_shared", {{"sharing", "lockd"}}),
            "unknown sharing 'lockd'; did you mean 'locked'? (valid: relaxed locked)");
}

TEST(Options, OfRealNumbersHaveARange) {
  EXPECT_EQ(refusal("diloco", {{"outer_rate", 0.7}, {"outer_momentum", 0.0}}), "");
  EXPECT_EQ(refusal("diloco", {{"outer_momentum", 1.5}}),
            "--outer-momentum is 1.5; 0 to 1 are possible");
  EXPECT_EQ(refusal("diloco", {{"outer_rate", std::nan("")}}),
            "--outer-rate is nan; 0 to 10 are possible");
  EXPECT_EQ(ChosenOptions{}.real(option_named("outer_rate")), 0.7);
  EXPECT_EQ(to_text(OptionValue(0.7)), "0.7");
  EXPECT_EQ(to_text(OptionValue(1.0)), "1");
}

TEST(Options, OfSeveralCountsAreAListOfThem) {
  const ChosenOptions options{.given = {{"stage_parts", "8,5"}}};
  EXPECT_EQ(options.counts(kStageParts), (std::vector<std::int64_t>{8, 5}));
  EXPECT_TRUE(ChosenOptions{}.counts(kStageParts).empty());
  for (const char* wrong :
       {"", "8,", ",5", "8,,5", "8;5", "8, 5", "0,13", "-1,2", "1e2", "99999999999999999999"}) {
    EXPECT_EQ(refusal("pipeline", {{"stage_parts", wrong}}),
              "--stage-parts is '" + std::string(wrong) +
                  "'; whole numbers of at least 1 are possible, with commas between them, such as "
                  "8,5");
  }
  EXPECT_EQ(refusal("pipeline", {{"stage_parts", "13"}}), "");
}

TEST(Strategies, AreFoundByTheirNamesElsewhere) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"ddp", "ddp is all_reduce here"},
      {"MirroredStrategy", "MirroredStrategy is all_reduce here"},
      {"Horovod", "Horovod is all_reduce here"},
      {"all-reduce", "all-reduce is all_reduce here"},
      {"zero", "zero is sharded here"},
      {"ZeRO-3", "ZeRO-3 is sharded with --shard parameters here"},
      {"fsdp", "fsdp is sharded with --shard parameters here"},
      {"hogwild+top_k", "hogwild is async_shared here"},
      {"easgd", "easgd has no equal, and the nearest is local_sgd here"}};
  for (const auto& [name, says] : cases) EXPECT_THAT(refusal(name, {}), EndsWith(says)) << name;
  EXPECT_THAT(refusal("al_reduce", {}), HasSubstr("did you mean 'all_reduce'?"));
}

TEST(Options, ThatAreLeftOutHaveTheirUsualValue) {
  const ChosenOptions none;
  EXPECT_EQ(none.count(kServers), 1);
  EXPECT_EQ(none.choice(kAlgorithm), "ring");
  EXPECT_EQ(none.count_if_any(kStalenessBound), std::nullopt);
  EXPECT_FALSE(none.sides_if_any(kTorusSides));
  const ChosenOptions some{.given = {{"servers", 3}, {"staleness_bound", 0}}};
  EXPECT_EQ(some.count(kServers), 3);
  EXPECT_EQ(some.count_if_any(kStalenessBound), 0);
}

TEST(Options, BoundTheStalenessOfThePartThatHoldsTheParameters) {
  workloads::Recipe recipe;
  recipe.global_batch = recipe.train_examples = recipe.total_examples = 48;
  const Step step = workloads::find_workload("parabola").training(recipe);
  StrategyOptions options;
  options.replicas = 2;
  options.given = {{"staleness_bound", 3}};
  const Step placed = apply(find_strategies("parameter_server_async"), step, options);
  const Binding servers_apart = {
      .processes = 2, .process_of = [](const Place& place) { return place.role != Role::Server; }};
  const std::vector<Step> parts = partitioned(placed, servers_apart);
  EXPECT_EQ(parts.at(0).staleness_bound, 3);
  EXPECT_EQ(parts.at(1).staleness_bound, std::nullopt);
}

}  // namespace
}  // namespace regatta::strategies
