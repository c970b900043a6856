// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace regatta {
namespace {

Diagnosis find(const std::string& feature, const MachineFacts& machine) {
  for (const Diagnosis& row : diagnose(machine, {.onednn = "2.6.3"}, "/nowhere")) {
    if (row.feature == feature) return row;
  }
  ADD_FAILURE() << "no row " << feature;
  return {};
}

TEST(Doctor, TellsWhetherTheCpuComputesInBf16) {
  EXPECT_EQ(find("CPU amx_bf16", {.isa = {"avx2", "amx_bf16"}}).finding, Finding::Ok);
  EXPECT_EQ(find("CPU amx_bf16", {.isa = {"avx2"}}).finding, Finding::Absent);
}

TEST(Doctor, SaysHowToGetMissingData) {
  const Diagnosis row = find("CIFAR-10", {});
  EXPECT_EQ(row.finding, Finding::Missing);
  EXPECT_EQ(row.detail, "/nowhere: 0 of 6 files, 0 genuine");
  EXPECT_EQ(row.mend, "ci/fetch_cifar10 /nowhere");
}

TEST(Doctor, NamesGpuAndDriver) {
  const Diagnosis row = find("CUDA GPU", {.gpus = {"NVIDIA H200"}, .driver = "580.1"});
  EXPECT_EQ(row.finding, Finding::Ok);
  EXPECT_EQ(row.detail, "1 x NVIDIA H200, driver 580.1");
  EXPECT_EQ(find("CUDA GPU", {}).finding, Finding::Absent);
}

TEST(Doctor, OffersAMendForExactlyWhatIsMissing) {
  for (const Diagnosis& row : diagnose({}, {}, "/nowhere")) {
    EXPECT_EQ(row.finding == Finding::Missing, !row.mend.empty()) << row.feature;
    EXPECT_FALSE(row.purpose.empty()) << row.feature;
  }
}

TEST(Doctor, WarnsOfAFaultThatWasPlanted) {
  EXPECT_FALSE(diagnose_plant(""));
  const std::optional<Diagnosis> row = diagnose_plant("slow_step");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->finding, Finding::Missing);
  EXPECT_NE(row->detail.find("slow_step"), std::string::npos);
  EXPECT_FALSE(row->mend.empty());
}

TEST(Doctor, PrintsATable) {
  std::ostringstream out;
  EXPECT_EQ(doctor(out, "/nowhere"), 0);
  for (const std::string_view part : {"oneDNN", "python3-matplotlib", "mend: ci/fetch_cifar10"}) {
    EXPECT_NE(out.str().find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace regatta
