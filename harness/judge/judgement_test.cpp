// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/judgement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

namespace regatta::judge {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// A run that reaches its target after `seconds`, at 1,000 examples a second; never if that is 0.
record::Record made_up(const std::string& strategy, std::uint64_t seed, double seconds) {
  record::Record record;
  record.run_id = strategy + std::to_string(seed);
  record.cell = {.workload = "parabola",
                 .dataset = "curve",
                 .strategy = strategy,
                 .workers = strategy == "single" ? 1 : 2,
                 .seed = seed};
  record.target = {.metric = "loss", .value = 0.05};
  record.examples_per_s = 1000;
  record.checksums = {.initial_weights = "w" + std::to_string(seed), .data_order = "o"};
  record.evaluations = {{.metric = 1}};
  if (seconds > 0) {
    record.status = record::Status::Reached;
    record.training_time_to_target_ns = static_cast<std::int64_t>(seconds * 1e9);
    record.full_time_to_target_ns = 2 * *record.training_time_to_target_ns;
    record.result_time_to_target_ns = 3 * *record.training_time_to_target_ns;
    record.examples_to_target = static_cast<std::int64_t>(seconds * 1000);
    record.evaluations.push_back({.examples = *record.examples_to_target,
                                  .training_time_ns = *record.training_time_to_target_ns,
                                  .metric = 0.04});
  }
  record.command = "regatta run --workload parabola";
  return record;
}

using Records = std::vector<record::Record>;

void add(Records& records, const std::string& strategy, const std::vector<double>& seconds) {
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    records.push_back(made_up(strategy, i + 1, seconds[i]));
  }
}

std::vector<std::string> order(const WorkloadJudgement& workload) {
  std::vector<std::string> names;
  for (const CellJudgement& cell : workload.cells) {
    names.push_back(cell.runs.front()->cell.strategy);
  }
  return names;
}

TEST(Judgement, TellsWhoIsLastToExchangesAndWherePushesSpendTheirTime) {
  const auto spans = [](std::int64_t count, std::int64_t sum, std::int64_t p99) {
    return record::SpanRecord{.count = count, .sum = sum, .p99 = p99};
  };
  Records records = {made_up("all_reduce", 1, 1), made_up("all_reduce", 2, 1)};
  EXPECT_FALSE(judge(records).workloads[0].cells[0].last_worker);
  for (record::Record& record : records) {
    const bool first = record.cell.seed == 1;
    record::WorkerRecord early{.place = "replica0", .late_ns = spans(10, 10, 1)};
    record::WorkerRecord late{.place = "replica1",
                              .late_ns = spans(10, first ? 30'000 : 10'000, 1),
                              .late_uncertainty_ns = first ? 50 : 20,
                              .exchange_wait_ns = spans(4, 8'000, first ? 5'000 : 3'000),
                              .pushes = record::PushRecord{.barrier_ns = spans(2, 200, 0),
                                                           .queue_ns = spans(2, 400, 0),
                                                           .wire_ns = spans(2, 600, 0)}};
    record.workers = {early, late};
  }
  const CellJudgement cell = judge(records).workloads[0].cells[0];
  EXPECT_EQ(cell.last_worker->place, "replica1");
  EXPECT_DOUBLE_EQ(cell.last_worker->late_seconds, 2e-6);
  EXPECT_DOUBLE_EQ(cell.last_worker->uncertainty_seconds, 50e-9);
  EXPECT_DOUBLE_EQ(cell.exchange_wait->mean_seconds, 2e-6);
  EXPECT_DOUBLE_EQ(cell.exchange_wait->p99_seconds, 5e-6);
  EXPECT_DOUBLE_EQ(cell.pushes->barrier_seconds, 100e-9);
  EXPECT_DOUBLE_EQ(cell.pushes->queue_seconds, 200e-9);
  EXPECT_DOUBLE_EQ(cell.pushes->wire_seconds, 300e-9);
}

TEST(Judgement, DrawsACurveWhereAllRunsWereEvaluated) {
  Records records;
  add(records, "single", {1, 3, 2, 0});
  records[3].status = record::Status::Failed;
  records[3].evaluations = {{.metric = 9}};
  for (std::size_t i = 0; i < 3; ++i) {
    records[i].evaluations[1].examples = 1000;
    records[i].evaluations[1].metric = 0.01 * static_cast<double>(i + 1);
  }
  records[0].evaluations.push_back({.examples = 2000, .metric = 0.001});  // in only one run
  const CellJudgement cell = judge(records).workloads[0].cells[0];
  ASSERT_EQ(cell.curve.size(), 2U);
  EXPECT_EQ(cell.curve[1].examples, 1000);
  EXPECT_DOUBLE_EQ(cell.curve[1].seconds, 2);
  EXPECT_DOUBLE_EQ(cell.curve[1].metric, 0.02);
  EXPECT_DOUBLE_EQ(cell.curve[1].low, 0.01);
  EXPECT_DOUBLE_EQ(cell.curve[1].high, 0.03);
}

TEST(Judgement, RanksByMedianAndCountsAMissAsInfinite) {
  Records records;
  add(records, "independent", {0.1, 0.1, 0.1});
  add(records, "in_graph", {1, 0, 0});
  add(records, "single", {6, 4, 5});
  add(records, "all_reduce", {2, 0, 3});
  const Judgement judgement = judge(records);
  ASSERT_EQ(judgement.workloads.size(), 1U);
  const WorkloadJudgement& workload = judgement.workloads.front();
  EXPECT_EQ(order(workload),
            (std::vector<std::string>{"all_reduce", "single", "in_graph", "independent"}));
  const CellJudgement& first = workload.cells[0];
  EXPECT_EQ(first.reached, 2);
  EXPECT_EQ(first.seconds_to_target->median, 3);
  EXPECT_EQ(first.seconds_to_target->low, 2);
  EXPECT_TRUE(std::isinf(first.seconds_to_target->high));
  EXPECT_DOUBLE_EQ(first.seconds_to_target->coverage, 0.75);  // 1 - 2 / 2^3
  EXPECT_EQ(first.full_seconds_to_target->median, 6);
  EXPECT_EQ(first.result_seconds_to_target->median, 9);
  EXPECT_EQ(first.examples_to_target->median, 3000);
  EXPECT_DOUBLE_EQ(first.seconds_per_example->median, 0.001);
  EXPECT_TRUE(std::isinf(workload.cells[2].seconds_to_target->median));
  EXPECT_FALSE(workload.cells[3].claims_time);
  EXPECT_FALSE(workload.cells[3].seconds_to_target);
}

TEST(Judgement, OfRecordsWithoutTheResultClockTellsNothingOfIt) {
  Records records;
  add(records, "single", {6, 4, 5});
  for (record::Record& record : records) record.result_time_to_target_ns.reset();
  EXPECT_FALSE(judge(records).workloads.front().cells[0].result_seconds_to_target);
}

TEST(Judgement, BracketsTheCrossingAndSaysWhetherItHeld) {
  record::Record run = made_up("single", 1, 3);
  run.evaluations = {{.examples = 0, .metric = 1},
                     {.examples = 2000, .training_time_ns = 2 * kSecond, .metric = 0.06},
                     {.examples = 3000, .training_time_ns = 3 * kSecond, .metric = 0.05},
                     {.examples = 4000, .training_time_ns = 4 * kSecond, .metric = 0.07}};
  const std::optional<Crossing> crossing = crossing_of(run);
  ASSERT_TRUE(crossing && crossing->before);
  EXPECT_EQ(crossing->before->examples, 2000);
  EXPECT_EQ(crossing->at.examples, 3000);
  EXPECT_FALSE(crossing->held);
  EXPECT_EQ(judge_cell({&run}).held, 0);
  EXPECT_FALSE(crossing_of(made_up("single", 1, 0)));
  run.target = {.metric = "accuracy", .value = 0.06};
  EXPECT_EQ(crossing_of(run)->at.examples, 0);  // higher is better for an accuracy
  EXPECT_FALSE(crossing_of(run)->before);
}

TEST(Judgement, KeepsApartWhatCannotBeCompared) {
  Records records;
  for (int i = 0; i < 6; ++i)
    records.push_back(made_up("single", static_cast<std::uint64_t>(i), 1));
  records[1].machine.cpu = "another";
  records[2].target.value = 0.01;
  records[3].cell.straggler = {{.worker = 1, .factor = 3}};
  records[4].cell.dataset = "other";
  records[5].cell.dtype = "bf16";  // another cell of the same workload
  const Judgement judgement = judge(records);
  EXPECT_EQ(judgement.workloads.size(), 5U);
  EXPECT_EQ(judgement.workloads.front().cells.size(), 2U);
  records.resize(2);
  records[1] = made_up("single", 2, 1);
  records[1].cell.steps = 7;
  const Judgement lengths = judge(records);
  ASSERT_EQ(lengths.workloads.size(), 2U);
  EXPECT_EQ(lengths.workloads[1].cells.front().runs.front()->cell.steps, 7);
}

TEST(Judgement, KeepsMeasurementsOutOfRaces) {
  Records records;
  add(records, "single", {1, 2});
  add(records, "in_graph", {0, 0});
  for (record::Record& record : records) record.step_time_ns.count = 4;
  for (std::size_t i = 2; i < 4; ++i) records[i].cell.steps = 4;
  const Judgement judgement = judge(records);
  ASSERT_EQ(judgement.workloads.size(), 1U);
  EXPECT_EQ(order(judgement.workloads[0]), std::vector<std::string>{"single"});
  ASSERT_EQ(judgement.measurements.size(), 1U);
  EXPECT_EQ(order(judgement.measurements[0]), std::vector<std::string>{"in_graph"});
  records[3].step_time_ns.count = 10;
  EXPECT_EQ(judge(records).workloads.size(), 2U);
}

TEST(Judgement, HoldsAllClaimsAgainstTheRecords) {
  const auto json = nlohmann::json::parse(
      to_json(judge(std::vector<record::Record>{made_up("single", 1, 2)}), {}));
  ASSERT_EQ(json["claims"].size(), judge_claims({}).size());
  EXPECT_EQ(json["claims"][0]["verdict"], "undecided");
  EXPECT_FALSE(json["claims"][0]["missing"].empty());
}

TEST(Judgement, CountsARecordThatIsThereTwiceOnce) {
  Records records;
  add(records, "single", {1, 2});
  records.push_back(records.front());
  const Judgement judgement = judge(records);
  EXPECT_EQ(judgement.workloads.front().cells.front().runs.size(), 2U);
  ASSERT_EQ(judgement.warnings.size(), 1U);
  EXPECT_EQ(judgement.warnings.front(), "1 records are there more than once and count once");
}

TEST(Judgement, SaysWhetherAllBeganAlike) {
  Records records;
  add(records, "single", {1, 2});
  add(records, "all_reduce", {1, 2});
  EXPECT_EQ(judge(records).workloads.front().same_start.compared, 2);
  EXPECT_TRUE(judge(records).workloads.front().same_start.differs.empty());
  records[3].checksums.initial_weights = "other";
  EXPECT_EQ(judge(records).workloads.front().same_start.differs,
            std::vector<std::string>{"seed 2: the first weights differ between runs"});
}

TEST(Judgement, SaysWhetherSynchronousRunsConsumedTheSame) {
  Records records;
  for (const char* strategy : {"single", "all_reduce", "async_shared"}) {
    add(records, strategy, {1, 2});
  }
  const auto differs = [](const Records& all) {
    return judge(all).workloads.front().same_start.differs;
  };
  records[5].checksums.data_order = "of steps that this run took";
  EXPECT_TRUE(differs(records).empty());
  records[3].checksums.data_order = "";  // like an older record
  EXPECT_TRUE(differs(records).empty());
  records[3].checksums.data_order = "other";
  EXPECT_EQ(differs(records),
            std::vector<std::string>{"seed 2: the order of examples differs between runs"});
  records[3].step_examples.emplace();  // with backup workers
  EXPECT_TRUE(differs(records).empty());
}

TEST(Judgement, LeavesServersAndTheHostOutOfAWorkersStep) {
  record::Record run = made_up("parameter_server", 1, 1);
  run.workers = {{.place = "replica0", .steps = 10, .compute_ns = 8 * kSecond},
                 {.place = "server0", .steps = 10, .wait_ns = 9 * kSecond},
                 {.place = "peer1.replica0", .steps = 10, .wait_ns = 9 * kSecond},
                 {.place = "host", .steps = 10, .wait_ns = 9 * kSecond}};
  const CellJudgement cell = judge_cell({&run});
  EXPECT_DOUBLE_EQ(cell.step_seconds[0], 0.8);
  EXPECT_DOUBLE_EQ(cell.step_seconds[3], 0);
}

TEST(Judgement, SplitsAStepIntoPartsThatAddUpWithBubblesApartFromOtherWaiting) {
  record::Record run = made_up("pipeline", 1, 1);
  run.training_ns = 20 * kSecond;
  run.workers = {
      {.place = "replica0", .steps = 10, .wait_ns = 9 * kSecond, .bubble_ns = 7 * kSecond}};
  const CellJudgement cell = judge_cell({&run});
  EXPECT_DOUBLE_EQ(cell.step_seconds[2], 0.7);
  EXPECT_DOUBLE_EQ(cell.step_seconds[3], 0.2);
  EXPECT_DOUBLE_EQ(std::accumulate(cell.step_seconds.begin(), cell.step_seconds.end(), 0.0), 2);
}

std::vector<std::string> warnings_with(const Records& records) {
  return judge(records).workloads.front().warnings;
}

TEST(Judgement, SaysWhenEqualRunsOrABeatenCeilingShowANoisyMachine) {
  Records records;
  for (const std::string strategy : {"all_reduce", "independent"}) add(records, strategy, {2, 2});
  EXPECT_TRUE(warnings_with(records).empty());
  records[1].examples_per_s = 1200;
  records[1].load = {.before = 1.3, .after = 0.2};
  EXPECT_EQ(
      warnings_with(records),
      std::vector<std::string>{
          "the machine was noisy: all_reduce was 9 % faster than independent, which exchanges "
          "nothing; speeds of equal runs differ by up to 20 % (all_reduce), load of other programs "
          "up to 1.3 before a run and 0.2 after"});
  records[0].cell.workers = records[1].cell.workers = 4;  // more cores than the ceiling's
  EXPECT_TRUE(warnings_with(records).empty());
  records[1].examples_per_s = 1500;
  EXPECT_EQ(warnings_with(records).size(), 1U);
}

TEST(Judgement, SumsUpWhatWorkersDid) {
  record::Record run = made_up("async_shared", 1, 1);
  const record::WorkerRecord worker{.steps = 10,
                                    .compute_ns = 8 * kSecond,
                                    .exposed_communication_ns = kSecond,
                                    .staleness_histogram = {6, 2, 2, 0}};
  run.workers = {worker, worker};
  run.graph = {.bytes_per_step_computed = 100, .bytes_per_step_counted = 101.5};
  const CellJudgement cell = judge_cell({&run});
  EXPECT_DOUBLE_EQ(cell.step_seconds[0], 0.8);
  EXPECT_DOUBLE_EQ(cell.step_seconds[1], 0.1);
  EXPECT_EQ(cell.staleness.updates, 20);
  EXPECT_DOUBLE_EQ(cell.staleness.mean, 0.6);
  EXPECT_EQ(cell.staleness.max, 2);
  EXPECT_EQ(cell.bytes_per_step_computed, 100);
  EXPECT_EQ(cell.bytes_per_step_counted, 101.5);
}

TEST(Judgement, WarnsOfAStragglerThatMissedItsFactor) {
  Records records;
  add(records, "single", {1, 2});
  for (record::Record& record : records) {
    record.cell.straggler = {{.worker = 1, .factor = 4}};
    record.workers = {{.place = "replica1", .replica = 1, .straggler_factor = 4.3}};
  }
  EXPECT_TRUE(judge(records).workloads.front().warnings.empty());
  records[1].workers[0].straggler_factor = 26;
  EXPECT_EQ(judge(records).workloads.front().warnings,
            std::vector<std::string>{"1 run slowed a worker by another factor than --straggler "
                                     "asked for, by more than 10 %"});
}

TEST(Judgement, WarnsOfMixturesAndFailures) {
  Records records;
  add(records, "single", {1, 2, 0});
  records[0].software.git_commit = "0123456789abcdef";
  records[1].software = {.git_commit = "fedcba9876543210", .dirty = true};
  records[2].status = record::Status::Failed;
  records[2].cell.oversubscribed = true;
  records[2].cell.shared_gpu = true;
  records[2].examples_per_s = 9;
  const WorkloadJudgement workload = judge(records).workloads.front();
  EXPECT_EQ(workload.warnings.size(), 4U);
  EXPECT_EQ(workload.cells.size(), 2U);  // another cell: its threads had to share cores
  EXPECT_EQ(workload.cells[1].failed, 1);
  EXPECT_FALSE(workload.cells[1].seconds_per_example);
}

TEST(Judgement, IsJsonWithoutInfinities) {
  Records records;
  add(records, "all_reduce", {1, 0, 2});
  records[1].status = record::Status::Failed;
  records[1].failure = record::Failure{.kind = "diverged", .text = "step 70: \xff"};
  const auto json = nlohmann::json::parse(to_json(judge(records), {"a", "b"}));
  EXPECT_EQ(json["folders"].size(), 2U);
  const auto& cell = json["workloads"][0]["cells"][0];
  EXPECT_EQ(cell["seconds_to_target"]["median"], 2);
  EXPECT_TRUE(cell["seconds_to_target"]["high"].is_null());
  EXPECT_FALSE(cell["cell"].contains("seed"));
  EXPECT_EQ(cell["runs"].size(), 3U);
  EXPECT_EQ(cell["runs"][1]["failure"]["kind"], "diverged");
  EXPECT_EQ(cell["runs"][2]["crossing"]["at"]["examples"], 2000);
  EXPECT_EQ(json["workloads"][0]["certainty"], "alone");
}

}  // namespace
}  // namespace regatta::judge
