// SPDX-License-Identifier: Apache-2.0
//
// Lists and variables that Slurm 22.05 was seen to set.
#include "harness/system/slurm_job.h"

#include <gmock/gmock.h>

#include "harness/system/process.h"
#include "harness/system/variables_for_test.h"

namespace regatta::system {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::Variables;

TEST(SlurmJob, NamesHostsOneByOne) {
  EXPECT_THAT(hosts_in("n1"), ElementsAre("n1"));
  EXPECT_THAT(hosts_in("n[1-2]"), ElementsAre("n1", "n2"));
  EXPECT_THAT(hosts_in("n[08-10,12],login"), ElementsAre("n08", "n09", "n10", "n12", "login"));
  EXPECT_THAT(hosts_in("r[1-2]c[0,3]-ib"), ElementsAre("r1c0-ib", "r1c3-ib", "r2c0-ib", "r2c3-ib"));
}

TEST(SlurmJob, ReadsNoHostsFromWhatIsNoList) {
  for (const char* text : {"", "n[1-", "n[a-b]", "n[3-1]", "n1,,n2", "n[]", "n[1-9999999999]"}) {
    EXPECT_TRUE(hosts_in(text).empty()) << text;
  }
}

TEST(SlurmJob, CountsByHost) {
  EXPECT_THAT(counts_in("2(x3),1"), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(counts_in("16"), ElementsAre(16));
  for (const char* text : {"", "2(x", "(x2)", "2(x3)1", "-1", "2(x9999999999)"}) {
    EXPECT_TRUE(counts_in(text).empty()) << text;
  }
}

TEST(SlurmJob, IsThereOnlyWithAnId) {
  EXPECT_FALSE(slurm_job());
  const Variables of_job{{"SLURM_JOB_ID", "7"},
                         {"SLURM_JOB_NODELIST", "n[1-2]"},
                         {"SLURM_TASKS_PER_NODE", "2(x2)"},
                         {"SLURM_JOB_CPUS_PER_NODE", "4,8"}};
  const std::optional<SlurmJob> job = slurm_job();
  ASSERT_TRUE(job);
  EXPECT_EQ(job->id, "7");
  EXPECT_THAT(job->hosts, ElementsAre("n1", "n2"));
  EXPECT_EQ(job->tasks, 4);
  EXPECT_THAT(job->cores, ElementsAre(4, 8));
}

TEST(SlurmJob, KnowsAnotherHostThanThisOne) {
  EXPECT_EQ(other_host_of_slurm_job(), "");
  const Variables of_job{{"SLURM_JOB_NODELIST", "n[1-3]"}, {"SLURMD_NODENAME", "n1"}};
  EXPECT_EQ(other_host_of_slurm_job(), "n2");
  // Under mpirun, a process has the variables of the job step that started mpirun's daemon.
  const Variables of_step{{"SLURM_STEP_NODELIST", "n1"}, {"PMIX_RANK", "0"}};
  EXPECT_EQ(other_host_of_slurm_job(), "");
  const Variables of_mpirun{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
  EXPECT_EQ(other_host_of_slurm_job(), "n2");
}

TEST(SlurmJob, OnThisHostAloneHasNoOther) {
  const Variables of_job(
      {{"SLURM_JOB_NODELIST", host_name() + ".example.org"}, {"SLURM_JOB_ID", "7"}});
  EXPECT_EQ(other_host_of_slurm_job(), "");
}

TEST(SlurmJob, HasRoomForAsManyProcessesAsTasksAndAsManyCoresAsItsSmallestHost) {
  const SlurmJob job{.id = "7", .hosts = {"n1", "n2"}, .tasks = 4, .cores = {4, 8}};
  EXPECT_EQ(why_no_room_in(job, {.processes = 4, .cores = 4}), "");
  EXPECT_THAT(why_no_room_in(job, {.processes = 5}),
              HasSubstr("it has 5 processes, but Slurm's job 7 has room for 4; fix: --ntasks=5"));
  EXPECT_THAT(why_no_room_in(job, {.processes = 1, .cores = 5}),
              HasSubstr("--cores is 5, but Slurm's job 7 has 4 cores of a host"));
  EXPECT_EQ(why_no_room_in({.id = "7", .hosts = {}, .cores = {}}, {.processes = 9, .cores = 9}),
            "");
}

}  // namespace
}  // namespace regatta::system
