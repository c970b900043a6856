// SPDX-License-Identifier: Apache-2.0
//
// Tests hostfiles, and variables as Open MPI and Slurm set them.
#include "harness/ranks/host_slots.h"

#include <gmock/gmock.h>

#include "harness/system/variables_for_test.h"

namespace regatta {
namespace {

using testing::ElementsAre;
using testing_support::Variables;

TEST(HostSlots, OfAHostfileAreInItsOrder) {
  EXPECT_THAT(slots_in("a slots=2\n# b slots=9\n\nc  max_slots=8 slots=4 # more\n"),
              ElementsAre(2, 4));
}

TEST(HostSlots, AreUnknownWhereAHostHasNoneOrStandsTwice) {
  for (const char* text :
       {"", "a\n", "a slots=2\nb\n", "a slots=0\n", "a slots=2x\n", "a slots=2\na slots=2\n"}) {
    EXPECT_TRUE(slots_in(text).empty()) << text;
  }
}

TEST(HostSlots, OfMpirunAreThoseOfThisHostEverywhere) {
  const Variables variables{{"OMPI_COMM_WORLD_SIZE", "6"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_THAT(slots_of_hosts(""), ElementsAre(2, 2, 2));
}

TEST(HostSlots, OfMpirunAreUnknownWhereHostsDiffer) {
  const Variables variables{{"OMPI_COMM_WORLD_SIZE", "5"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_TRUE(slots_of_hosts("").empty());
}

TEST(HostSlots, OfSlurmAreTheStepsWhereSrunHasStartedIt) {
  const Variables job{{"SLURM_JOB_ID", "7"}, {"SLURM_TASKS_PER_NODE", "3(x2)"}};
  EXPECT_THAT(slots_of_hosts(""), ElementsAre(3, 3));
  const Variables step{
      {"PMIX_RANK", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}};
  EXPECT_THAT(slots_of_hosts(""), ElementsAre(2, 2));
}

TEST(HostSlots, AreFilledHostAfterHost) {
  EXPECT_THAT(hosts_by_slots({2, 2, 2}, 5), ElementsAre(0, 0, 1, 1, 2));
  EXPECT_TRUE(hosts_by_slots({2, 2}, 5).empty());
  EXPECT_TRUE(hosts_by_slots({}, 1).empty());
}

}  // namespace
}  // namespace regatta
