// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/simulated_judgement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace regatta {
namespace {

using Records = std::vector<Record>;

struct Where {
  std::int64_t workers = 1;
  double gbit = 10;
  double latency_us = 25;
};

/// A run in virtual time, with a share of 32 examples for each worker.
Record simulated(const std::string& strategy, const Where& where, double examples_per_s) {
  static int count = 0;
  Record record;
  record.run_id = "run" + std::to_string(++count);
  record.cell = {.workload = "resnet9_thin",
                 .dataset = "shapes",
                 .strategy = strategy,
                 .workers = where.workers,
                 .global_batch = 32 * where.workers,
                 .steps = 60,
                 .processes = where.workers,
                 .seed = 1};
  record.examples_per_s = examples_per_s;
  record.step_time_ns = {.count = 60, .p50 = 20'000'000};
  record.simulated = Simulated{.mode = "time",
                               .cluster = "0123456789abcdef",
                               .source = "regatta calibrate",
                               .hosts = 64,
                               .hardware = HardwareRecord{.link_bytes_per_s = where.gbit * 125e6,
                                                          .latency_ns = where.latency_us * 1e3,
                                                          .compute_times = "samples",
                                                          .queue_bytes = 0,
                                                          .machine_cores = 0}};
  return record;
}

SimulatedStudy only_study(const Records& records) {
  std::vector<SimulatedStudy> studies = judge_simulated(records);
  EXPECT_EQ(studies.size(), 1U);
  return studies.empty() ? SimulatedStudy{} : studies.front();
}

TEST(SimulatedJudgement, PutsRunsInAPlaceByWayLinkAndWorkers) {
  const Records records = {
      simulated("all_reduce", {.workers = 1}, 300), simulated("all_reduce", {.workers = 4}, 1000),
      simulated("all_reduce", {.workers = 4}, 1200), simulated("all_reduce", {.workers = 4}, 1100),
      simulated("gossip", {.workers = 4, .gbit = 1}, 900)};
  const SimulatedStudy study = only_study(records);
  EXPECT_TRUE(study.batch_grows);
  EXPECT_EQ(study.ways.size(), 2U);
  ASSERT_EQ(study.links.size(), 2U);
  EXPECT_EQ(study.links[0].bytes_per_s, 125e6);
  ASSERT_EQ(study.points.size(), 3U);
  EXPECT_EQ(study.points[1].cell.runs.size(), 3U);
  EXPECT_DOUBLE_EQ(speed_of(study.points[1]), 1100);
  EXPECT_DOUBLE_EQ(study.points[1].step_seconds, 0.02);
  EXPECT_EQ(study.points[2].link, 0U);
  EXPECT_DOUBLE_EQ(study.one_worker.value(), 300);
}

TEST(SimulatedJudgement, HoldsOnlyWhatComparesAgainstEachOther) {
  Records records(11, simulated("all_reduce", {.workers = 4}, 1000));
  for (std::size_t i = 0; i < records.size(); ++i) records[i].run_id += std::to_string(i);
  records[1].cell.dtype = "bf16";
  records[2].simulated->source = "a data sheet";
  records[3].simulated->mode = "train";
  records[4].simulated->hardware->compute_times = "gamma";
  records[5].cell.steps = 90;  // the duration of measuring
  records[6].status = Status::Failed;
  records[8].simulated->hardware->queue_bytes = 80e3;
  records[9].simulated->hardware->machine_cores = 2;
  records[10].simulated->hardware->machine_cores.reset();  // like older records
  records.push_back(records[0]);
  records.back().cell.workers = 0;
  records[7].run_id = records[0].run_id;
  const std::vector<SimulatedStudy> studies = judge_simulated(records);
  ASSERT_EQ(studies.size(), 8U);
  EXPECT_EQ(studies[0].points.size(), 1U);
  EXPECT_EQ(studies[0].points[0].cell.runs.size(), 2U);
}

TEST(SimulatedJudgement, KeepsOneBatchOrOneShareTogether) {
  Records records;
  for (const int workers : {1, 2, 4}) {
    records.push_back(simulated("all_reduce", {.workers = workers}, 100));
    records.back().cell.global_batch = 64;
  }
  EXPECT_FALSE(only_study(records).batch_grows);
  for (const int workers : {1, 2, 4}) {
    records.push_back(simulated("all_reduce", {.workers = workers}, 100));
    records.back().cell.global_batch = 256;
  }
  EXPECT_EQ(judge_simulated(records).size(), 2U);
}

TEST(SimulatedJudgement, TellsClustersOfOlderRecordsApart) {
  Records records = {simulated("all_reduce", {.workers = 2}, 100),
                     simulated("all_reduce", {.workers = 2}, 200)};
  records[0].simulated->hardware.reset();
  records[1].simulated->hardware.reset();
  records[1].simulated->cluster = "fedcba9876543210";
  const SimulatedStudy study = only_study(records);
  ASSERT_EQ(study.links.size(), 2U);
  EXPECT_EQ(study.links[0].cluster, "0123456789abcdef");
  EXPECT_EQ(study.points.size(), 2U);
}

TEST(SimulatedJudgement, IsAPartOfTheJsonWithoutInfinities) {
  Records records = {simulated("all_reduce", {.workers = 2}, 100),
                     simulated("gossip", {.workers = 2}, 50)};
  records[1].simulated->hardware->link_bytes_per_s.reset();
  const auto json =
      nlohmann::json::parse(to_json(judge(Records{}), judge_simulated(records), {"a"}));
  EXPECT_TRUE(json["workloads"].empty());
  const auto& study = json["simulated"][0];
  EXPECT_EQ(study["source"], "regatta calibrate");
  EXPECT_EQ(study["ways"][1]["cell"]["strategy"], "gossip");
  EXPECT_EQ(study["links"][0]["bytes_per_s"], 1.25e9);
  EXPECT_TRUE(study["links"][1]["bytes_per_s"].is_null());
  EXPECT_EQ(study["points"][0]["examples_per_s"], 100);
  EXPECT_TRUE(study["points"][0]["seconds_to_target"].is_null());
  EXPECT_TRUE(study["one_worker"].is_null());
}

}  // namespace
}  // namespace regatta
