// SPDX-License-Identifier: Apache-2.0
//
// Tests with output that mpirun 4.1.4 and 5.0.7 have printed.
#include "harness/ranks/mpirun.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "harness/ranks/launcher.h"
#include "harness/system/variables_for_test.h"
#include "kernels/base/error.h"

namespace regatta::ranks {
namespace {

using testing_support::Variables;

/// The last death that the lines report.
std::optional<RankDeath> death_in(const std::vector<std::string>& lines) {
  DeathNotice notice;
  std::optional<RankDeath> found;
  for (const std::string& line : lines) {
    if (const auto death = notice.take(line)) found = death;
  }
  return found;
}

void expect_untagged(std::string line, int rank, const std::string& text) {
  EXPECT_EQ(untag(line), rank);
  EXPECT_EQ(line, text);
}

TEST(Mpirun, TagsLinesWithTheirRank) {
  expect_untagged("[1,0]<stdout>:rank 0 says", 0, "rank 0 says");       // 4
  expect_untagged("[1,12]<stderr>: rank 12 says", 12, "rank 12 says");  // 5
  expect_untagged("[1,1]<stderr>: ", 1, "");
  expect_untagged("[3] rank 3 says", 3, "rank 3 says");  // MPICH
  expect_untagged("[vm:30198] PMIX ERROR: BAD-PARAM", -1, "[vm:30198] PMIX ERROR: BAD-PARAM");
}

TEST(Mpirun, TellsADeathInOneLineOrInTwo) {
  for (const std::vector<std::string>& lines :
       {std::vector<std::string>{
            "-----", "Primary job  terminated normally, but 1 process returned",
            "a non-zero exit code. Per user-direction, the job has been aborted.", "-----", "-----",
            "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).",
            "-----"},
        std::vector<std::string>{
            "-----", "prterun noticed that process rank 1 with PID 27223 on node vm exited on",
            "signal 9 (Killed).", "-----"}}) {
    const auto death = death_in(lines);
    ASSERT_TRUE(death);
    EXPECT_EQ(death->rank, 1);
    EXPECT_EQ(death->words, "exited on signal 9 (Killed)");
  }
}

TEST(Mpirun, OfAnEndWithoutASignalNamesNoDeath) {
  EXPECT_FALSE(
      death_in({"prterun has exited due to process rank 1 with PID 27193 on node vm exiting",
                "improperly. There are three reasons this could occur:"}));
  EXPECT_FALSE(death_in({"process rank 1 exited on", "", "signal 9 (Killed)."}));
}

/// The value of OMPI_MCA_btl after choose_links(), if the user has set it to `by_user`.
std::string btl_chosen(Reach reach, const std::string& by_user = "") {
  const Variables of_user{{"OMPI_MCA_btl", by_user}, {"OMPI_MCA_pml", ""}};
  unsetenv("OMPI_MCA_pml");
  if (by_user.empty()) unsetenv("OMPI_MCA_btl");
  choose_links(reach, "");
  const char* chosen = std::getenv("OMPI_MCA_btl");
  return chosen == nullptr ? "" : chosen;
}

TEST(Mpirun, OfMpichTakesNoHostfile) {
  EXPECT_EQ(mpirun_command({.ranks = 2}, comm::MpiKind::Mpich).back(), "2");
  EXPECT_THROW(mpirun_command({.hosts = "hosts"}, comm::MpiKind::Mpich), RunError);
}

TEST(Mpirun, UsesMemoryOnThisHostUnlessTheUserChooses) {
  EXPECT_EQ(btl_chosen(Reach::ThisHost), "self,vader");
  EXPECT_EQ(btl_chosen(Reach::Hosts), "");
  EXPECT_EQ(btl_chosen(Reach::ThisHost, "self,tcp"), "self,tcp");
}

}  // namespace
}  // namespace regatta::ranks
