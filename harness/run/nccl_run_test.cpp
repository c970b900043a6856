// SPDX-License-Identifier: Apache-2.0
//
// Tests the plan of ranks that exchange by NCCL.
#include <gtest/gtest.h>

#include <map>

#include "harness/plan/capture_rule.h"
#include "harness/plan/training_options.h"
#include "kernels/distribute/partition.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/plan.h"
#include "workloads/data/shapes.h"

namespace regatta::run {
namespace {

constexpr int kRanks = 3;
constexpr std::int64_t kExamples = 96;

const DataSet& images() {
  static const DataSet data = workloads::make_shapes(20, workloads::Split::Train, kExamples);
  return data;
}

plan::RaceRequest request_of(const std::string& algorithm, const std::string& cuda_graph = "off") {
  plan::RaceRequest request;
  request.workload = "resnet9_thin";
  request.strategy = "all_reduce";
  request.device = "cuda";
  request.options["all_reduce"] = algorithm;
  request.workers = kRanks;
  request.processes = kRanks;
  request.global_batch = kExamples / 2;
  request.steps = 2;
  request.options["bucket_bytes"] = 64 << 10;  // several, the last one small
  request.cuda_graph = cuda_graph;
  return request;
}

plan::RaceRequest sharded_request(const std::string& shard, const std::string& cuda_graph = "off") {
  plan::RaceRequest request = request_of("ring", cuda_graph);
  request.strategy = "sharded";
  request.options.erase("all_reduce");
  request.options["shard"] = shard;
  return request;
}

/// The parts that the coordinator and every rank derive from a request.
struct RunParts {
  plan::RaceRequest request;
  plan::Placement placement;
  std::vector<Step> parts;
};

RunParts set_up(const plan::RaceRequest& request, std::int64_t train_examples = kExamples) {
  RunParts made{.request = request, .placement = {}, .parts = {}};
  made.request.cuda_graph = "auto";
  made.placement = plan::place(made.request, train_examples);
  made.request = request;
  if (made.placement.facts.carries_shares) made.placement.by_nccl = true;  // as with a GPU
  made.placement.launch = plan::launch_of_steps(request, made.placement);
  plan::set_data_weights(made.placement,
                         workloads::data_weights_of(*made.placement.workload, images()));
  made.parts = made.placement.placed->parts;
  return made;
}

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
      for (plan::RaceRequest request : {request_of("nccl"), sharded_request("parameters")}) {
        request.workload = workload;
        request.global_batch.reset();
        request.options["bucket_bytes"] = bucket_bytes;
        const RunParts setup = set_up(request, 50'000);
        std::vector<std::int64_t> order;
        for (int rank = 0; rank < kRanks; ++rank) {
          const Step& part = setup.parts[static_cast<std::size_t>(rank)];
          const Plan plan(part,
                          plan::executor_options(request, setup.placement, images(), rank).plan);
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

}  // namespace
}  // namespace regatta::run
