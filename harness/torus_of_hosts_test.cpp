// SPDX-License-Identifier: Apache-2.0
#include "harness/torus_of_hosts.h"

#include <gtest/gtest.h>

#include <vector>

#include "harness/plan/placement.h"
#include "harness/plan/training_options.h"
#include "harness/system/variables_for_test.h"
#include "kernels/graph/collective.h"

namespace regatta {
namespace {

using testing_support::Variables;

std::int64_t on_host(const std::vector<int>& hosts) { return members_on_host(hosts); }

TEST(TorusOfHosts, HasARowOfEachHost) {
  EXPECT_EQ(on_host({0, 0, 1, 1, 2, 2}), 2);
  EXPECT_EQ(on_host({3, 3, 3, 1, 1, 1}), 3);
}

TEST(TorusOfHosts, IsLeftToTheNumberWhereHostsGiveNoRows) {
  for (const std::vector<int>& hosts : std::vector<std::vector<int>>{{},
                                                                     {0, 0, 0, 0},
                                                                     {0, 1, 2, 3},
                                                                     {0, 0, 1},
                                                                     {0, 0, 1, 2},
                                                                     {0, 1, 0, 1},
                                                                     {0, 0, 1, 1, 0, 0}}) {
    EXPECT_EQ(on_host(hosts), 0) << hosts.size();
  }
}

RaceRequest of_six(const std::string& algorithm) {
  RaceRequest request{
      .workload = "parabola", .strategy = "all_reduce", .workers = 6, .processes = 6};
  request.options["all_reduce"] = algorithm;
  return request;
}

std::int64_t sided(const RaceRequest& request) {
  return with_torus_of_hosts(request).replicas_on_host;
}

TEST(TorusOfHosts, IsToldByTheAllocation) {
  const Variables job{{"SLURM_JOB_ID", "7"}, {"SLURM_TASKS_PER_NODE", "2(x3)"}};
  EXPECT_EQ(sided(of_six("torus")), 2);
}

TEST(TorusOfHosts, CountsWorkersOfAProcess) {
  const Variables job{{"SLURM_JOB_ID", "7"}, {"SLURM_TASKS_PER_NODE", "1(x2)"}};
  RaceRequest request = of_six("torus");
  request.processes = 2;
  EXPECT_EQ(sided(request), 3);
}

TEST(TorusOfHosts, IsThePlacedGraphsUnlessSidesAreGiven) {
  const Variables job{{"SLURM_JOB_ID", "7"}, {"SLURM_TASKS_PER_NODE", "2(x3)"}};
  RaceRequest request = of_six("torus");
  const auto columns = [](const RaceRequest& each) {
    const Step step = place_without_data(with_torus_of_hosts(each)).placed->step;
    for (const Node& node : step.graph.nodes()) {
      if (node.op == Op::AllReduce) return torus_columns(node);
    }
    return std::int64_t{-1};
  };
  EXPECT_EQ(columns(request), 2);
  RaceRequest open = of_six("auto");  // which may pick a torus
  open.costs = "costs.json";
  EXPECT_EQ(columns(open), 2);
  request.options["torus"] = "6x1";
  EXPECT_EQ(columns(request), 6);
}

TEST(TorusOfHosts, LeavesOtherRequestsAlone) {
  EXPECT_EQ(sided(of_six("torus")), 0);  // this machine is the only host
  const Variables job{{"SLURM_JOB_ID", "7"}, {"SLURM_TASKS_PER_NODE", "2(x3)"}};
  EXPECT_EQ(sided(of_six("ring")), 0);
}

}  // namespace
}  // namespace regatta
