// SPDX-License-Identifier: Apache-2.0
//
// Tests the end of a job with a fake scontrol; its output was seen from Slurm 22.05.
#include "harness/system/slurm_end.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "harness/system/folder_for_test.h"
#include "harness/system/variables_for_test.h"

namespace regatta::system {
namespace {

using testing_support::Variables;

/// A fake scontrol, first in PATH, that prints `says`.
class Scontrol {
 public:
  explicit Scontrol(const std::string& says) : former_path_(std::getenv("PATH")) {
    const std::filesystem::path program = folder_.path() / "scontrol";
    std::ofstream(program) << "#!/bin/sh\necho '" << says << "'\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    setenv("PATH", (folder_.path().string() + ":" + former_path_).c_str(), 1);
  }
  ~Scontrol() { setenv("PATH", former_path_.c_str(), 1); }
  Scontrol(const Scontrol&) = delete;
  Scontrol& operator=(const Scontrol&) = delete;

 private:
  testing_support::ScratchFolder folder_;
  std::string former_path_;
};

std::string end_if_slurm_says(const std::string& text) {
  const Scontrol scontrol("JobId=7 JobName=race " + text + " Dependency=(null)");
  const auto end = slurm_end();
  if (!end) return "none";
  EXPECT_EQ(end->kind(), ErrorKind::Cancelled);
  const std::string words = end->what();
  return words.substr(0, words.find("; fix: "));
}

TEST(SlurmEnd, IsWhatScontrolSaysOfTheJob) {
  const Variables of_job{{"SLURM_JOB_ID", "7"}};
  EXPECT_EQ(end_if_slurm_says("JobState=RUNNING Reason=None"), "none");
  EXPECT_EQ(end_if_slurm_says("JobState=COMPLETING Reason=None"), "Slurm's job 7 was cancelled");
  EXPECT_EQ(end_if_slurm_says("JobState=CANCELLED Reason=None"), "Slurm's job 7 was cancelled");
  EXPECT_EQ(end_if_slurm_says("JobState=COMPLETING Reason=TimeLimit"),
            "the time limit of Slurm's job 7 was reached");
  EXPECT_EQ(end_if_slurm_says("JobState=NODE_FAIL Reason=NodeDown"),
            "Slurm's job 7 has ended (NODE_FAIL)");
}

TEST(SlurmEnd, IsNotedWhereASignalComesToOneStepOfAJob) {
  const Variables of_job{{"SLURM_JOB_ID", "7"}};
  const SlurmEndNotice notice;
  EXPECT_TRUE(SlurmEndNotice::is_there());
  EXPECT_NO_THROW(stop_at_slurm_end());
  std::raise(SIGTERM);
  EXPECT_TRUE(SlurmEndNotice::has_come());
  EXPECT_EQ(end_if_slurm_says("JobState=RUNNING Reason=None"),
            "Slurm ended a step of job 7 by SIGTERM");
  EXPECT_THROW(stop_at_slurm_end(), RunError);
}

TEST(SlurmEnd, IsNotNotedOutsideOfSlurm) {
  const SlurmEndNotice notice;
  EXPECT_FALSE(SlurmEndNotice::is_there());
  EXPECT_EQ(end_if_slurm_says("JobState=CANCELLED"), "none");
}

TEST(SlurmEnd, AsksNothingOfAnIdThatIsNoNumber) {
  const Variables of_job{{"SLURM_JOB_ID", "7; touch x"}};
  EXPECT_EQ(end_if_slurm_says("JobState=CANCELLED"), "none");
}

}  // namespace
}  // namespace regatta::system
