// SPDX-License-Identifier: Apache-2.0
#include "harness/torus_of_hosts.h"

#include <gtest/gtest.h>

#include <vector>

#include "harness/system/variables_for_test.h"

namespace regatta {
namespace {

using testing_support::Variables;

std::string sides(const std::vector<int>& hosts) { return sides_by_hosts(hosts); }

TEST(TorusOfHosts, HasARowOfEachHost) {
  EXPECT_EQ(sides({0, 0, 1, 1, 2, 2}), "2x3");
  EXPECT_EQ(sides({3, 3, 3, 1, 1, 1}), "3x2");
}

TEST(TorusOfHosts, IsLeftToTheNumberWhereHostsGiveNoRows) {
  for (const std::vector<int>& hosts : std::vector<std::vector<int>>{{},
                                                                     {0, 0, 0, 0},
                                                                     {0, 1, 2, 3},
                                                                     {0, 0, 1},
                                                                     {0, 0, 1, 2},
                                                                     {0, 1, 0, 1},
                                                                     {0, 0, 1, 1, 0, 0}}) {
    EXPECT_EQ(sides(hosts), "") << hosts.size();
  }
}

RaceRequest of_six(const std::string& algorithm) {
  RaceRequest request{
      .workload = "parabola", .strategy = "all_reduce", .workers = 6, .processes = 6};
  request.options["all_reduce"] = algorithm;
  return request;
}

OptionValues sided(const RaceRequest& request) { return with_torus_of_hosts(request).options; }

TEST(TorusOfHosts, IsToldByTheAllocation) {
  const Variables job{{"SLURM_JOB_ID", "7"}, {"SLURM_TASKS_PER_NODE", "2(x3)"}};
  EXPECT_EQ(sided(of_six("torus")).at("torus"), OptionValue("2x3"));
}

TEST(TorusOfHosts, CountsWorkersOfAProcess) {
  const Variables job{{"SLURM_JOB_ID", "7"}, {"SLURM_TASKS_PER_NODE", "1(x2)"}};
  RaceRequest request = of_six("torus");
  request.processes = 2;
  EXPECT_EQ(sided(request).at("torus"), OptionValue("3x2"));
}

TEST(TorusOfHosts, LeavesOtherRequestsAlone) {
  EXPECT_FALSE(sided(of_six("torus")).contains("torus"));  // on this machine alone
  const Variables job{{"SLURM_JOB_ID", "7"}, {"SLURM_TASKS_PER_NODE", "2(x3)"}};
  EXPECT_FALSE(sided(of_six("ring")).contains("torus"));
  RaceRequest asked = of_six("torus");
  asked.options["torus"] = "6x1";
  EXPECT_EQ(sided(asked).at("torus"), OptionValue("6x1"));
}

}  // namespace
}  // namespace regatta
