// SPDX-License-Identifier: Apache-2.0
//
// Tests the options of ranks that exchange by NCCL, and their records.
#include "harness/make_trainer.h"
#include "harness/plan/cell.h"
#include "harness/plan/fingerprint.h"
#include "harness/plan/layout.h"
#include "harness/run/nccl_ranks_for_test.h"

namespace regatta::testing_support {
namespace {

/// The collectives by lane, in the order of each lane.
std::map<int, std::vector<std::int64_t>> buckets_by_lane(const Step& part, const Plan& plan) {
  std::map<int, std::vector<std::int64_t>> buckets;
  for (int lane = 0; lane < static_cast<int>(plan.lanes().size()); ++lane) {
    for (const Instruction& next : plan.lanes()[static_cast<std::size_t>(lane)].instructions) {
      const Node& node = part.graph.node(next.node);
      if (is_collective(node.op)) buckets[lane].push_back(node.attributes.integer("group"));
    }
  }
  return buckets;
}

TEST(NcclPlan, HasAllBucketsOfARankInOneLaneOfTheirOwnAndInOneOrderAtAllRanks) {
  for (const char* workload : {"parabola", "resnet9_thin", "resnet9", "mobilenet_v2"}) {
    for (const std::int64_t bucket_bytes : {0, 64 << 10, 4 << 20}) {
      SCOPED_TRACE(std::string(workload) + ", buckets of " + std::to_string(bucket_bytes));
      for (RaceRequest request : {request_of("nccl"), sharded_request("parameters")}) {
        request.workload = workload;
        request.global_batch.reset();
        request.options["bucket_bytes"] = bucket_bytes;
        const RunParts setup = set_up(request, 50'000);
        std::vector<std::int64_t> order;
        for (int rank = 0; rank < kRanks; ++rank) {
          const Step& part = setup.parts[static_cast<std::size_t>(rank)];
          const Plan plan(part, executor_options(request, setup.placement, images(), rank).plan);
          const auto buckets = buckets_by_lane(part, plan);
          ASSERT_EQ(buckets.size(), 1U);
          const auto& [lane, groups] = *buckets.begin();
          EXPECT_TRUE(plan.lanes()[static_cast<std::size_t>(lane)].communication);
          if (rank == 0) order = groups;
          EXPECT_EQ(groups, order);
        }
      }
    }
  }
}

TEST(NcclRun, IsToldByItsRecord) {
  unsetenv("NCCL_ALGO");
  const RunParts setup = set_up(request_of("ring"));
  const PinnedNcclAlgorithm pinned(*nccl_algorithm(setup.request));
  EXPECT_EQ(link_between(setup.placement), "NCCL");
  const Cell cell = cell_of(setup.request, setup.placement, {.dataset = "shapes", .cores = 2});
  EXPECT_EQ(to_text(cell.options.at("all_reduce")), "ring");
  EXPECT_EQ(cell.cuda_graph, "off");
  EXPECT_EQ(environment_facts().at("NCCL_ALGO"), "Ring");
  RaceRequest on_cpus = setup.request;
  on_cpus.device = "cpu";
  EXPECT_EQ(link_between(place(on_cpus, kExamples)), "Open MPI");
}

TEST(NcclRun, GivesRanksOfOtherHostsTheVariablesThatNcclReads) {
  unsetenv("NCCL_ALGO");
  setenv("NCCL_REGATTA_TEST", "a=b", 1);
  const RunParts setup = set_up(request_of("ring"));
  const std::vector<int> cores;
  const PinnedNcclAlgorithm pinned(*nccl_algorithm(setup.request));
  const TrainerRequest wanted{.request = setup.request,
                              .placement = setup.placement,
                              .data = images(),
                              .cores = cores,
                              .run_id = {},
                              .fingerprint = {},
                              .tell = {}};
  const LaunchOptions launch = launch_of(wanted);
  unsetenv("NCCL_REGATTA_TEST");
  EXPECT_EQ(launch.environment.at("NCCL_ALGO"), "Ring");
  EXPECT_EQ(launch.environment.at("NCCL_REGATTA_TEST"), "a=b");
}

TEST(NcclRun, NeedsRanksWithOneVersionOfNccl) {
  const auto names_nccl = [](const RunParts& setup) {
    const Fingerprint lines = fingerprint_of(
        setup.request, setup.placement, setup.placement.placed->step, images(), software_facts());
    return std::any_of(lines.begin(), lines.end(),
                       [](const auto& line) { return line.first == "NCCL"; });
  };
  RaceRequest request = request_of("nccl");
  EXPECT_TRUE(names_nccl(set_up(request)));
  request.options["all_reduce"] = "reduce_to_one";
  EXPECT_FALSE(names_nccl(set_up(request)));
}

}  // namespace
}  // namespace regatta::testing_support
