// SPDX-License-Identifier: Apache-2.0
//
// Tests the detection of mpirun and srun, with variables as Open MPI 4.1 and Slurm 22.05 set them.
#include "harness/ranks/allocation.h"

#include <gmock/gmock.h>

#include "harness/ranks/control_protocol.h"
#include "harness/system/variables_for_test.h"
#include "kernels/base/error_for_test.h"

namespace regatta::ranks {
namespace {

using testing::HasSubstr;
using testing_support::Variables;

std::string error_of(int processes) {
  return regatta::testing_support::error_of([&] { check_allocation(processes); }, ErrorKind::Usage);
}

TEST(Allocation, IsMpiruns) {
  const Variables of_mpirun{{"OMPI_COMM_WORLD_SIZE", "3"}, {"OMPI_COMM_WORLD_RANK", "2"}};
  EXPECT_EQ(allocated_processes(), 3);
  EXPECT_EQ(rank_in_allocation(), 2);
  EXPECT_TRUE(is_member_of_allocation());
  EXPECT_FALSE(is_started_by_srun());
}

TEST(Allocation, IsOnOneHostWhereMpirunHasStartedAllThere) {
  const Variables of_mpirun{{"OMPI_COMM_WORLD_SIZE", "3"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}};
  EXPECT_EQ(reach_of_ranks(), Reach::ThisHost);
  const Variables fewer{{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_EQ(reach_of_ranks(), Reach::Hosts);
}

TEST(Allocation, IsSrunsWherePmixHasARank) {
  const Variables of_srun{{"PMIX_RANK", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}};
  EXPECT_EQ(allocated_processes(), 4);
  EXPECT_EQ(rank_in_allocation(), 0);
  EXPECT_FALSE(is_member_of_allocation());
  EXPECT_TRUE(is_started_by_srun());
}

TEST(Allocation, IsMpirunsInAJobOfSlurm) {
  const Variables of_both{{"OMPI_COMM_WORLD_SIZE", "2"},
                          {"OMPI_COMM_WORLD_RANK", "1"},
                          {"PMIX_RANK", "1"},
                          {"SLURM_NTASKS", "4"},
                          {"SLURM_PROCID", "0"}};
  EXPECT_EQ(allocated_processes(), 2);
  EXPECT_EQ(rank_in_allocation(), 1);
  EXPECT_FALSE(is_started_by_srun());
}

TEST(Allocation, IsNoneInTheShellOfAJob) {
  const Variables of_job{{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "7"}};
  EXPECT_EQ(allocated_processes(), 0);
  EXPECT_EQ(rank_in_allocation(), std::nullopt);
  EXPECT_EQ(error_of(4), "");
}

TEST(Allocation, IsNoneOfWhatACoordinatorHasStarted) {
  const Variables of_both{{"OMPI_COMM_WORLD_SIZE", "2"},
                          {"OMPI_COMM_WORLD_RANK", "1"},
                          {kCoordinatorVariable, "127.0.0.1:1"}};
  EXPECT_EQ(allocated_processes(), 0);
  EXPECT_EQ(rank_in_allocation(), 1);
}

TEST(Allocation, HasAsManyProcessesAsTheRun) {
  const Variables of_srun{{"PMIX_RANK", "0"}, {"SLURM_NTASKS", "4"}};
  EXPECT_EQ(error_of(4), "");
  EXPECT_THAT(error_of(2), HasSubstr("srun has started 4 processes, but this run has 2; fix: "));
}

TEST(Allocation, WantsPmixOfSrun) {
  const Variables of_srun{{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_NTASKS", "2"}};
  EXPECT_THAT(error_of(2), HasSubstr("fix: srun --mpi=pmix"));
  EXPECT_EQ(error_of(1), "");  // several races of one process, if wanted
}

}  // namespace
}  // namespace regatta::ranks
