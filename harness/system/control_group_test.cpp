// SPDX-License-Identifier: Apache-2.0
#include "harness/system/control_group.h"

#include <gtest/gtest.h>

#include <fstream>

#include "harness/system/folder_for_test.h"

namespace regatta::system {
namespace {

namespace fs = std::filesystem;

/// Control groups on disk.
class ControlGroup : public testing::Test {
 protected:
  void write(const fs::path& file, const char* text) const {
    fs::create_directories((mounts() / file).parent_path());
    std::ofstream(mounts() / file) << text << '\n';
  }
  const fs::path& mounts() const { return folder_.path(); }

 private:
  testing_support::ScratchFolder folder_;
};

TEST_F(ControlGroup, OfVersion2ObeysThoseAboveIt) {
  write("job/step/cpu.max", "max 100000");
  write("job/cpu.max", "150000 100000");
  EXPECT_EQ(cpu_quota("0::/job/step\n", mounts()), 1.5);
  EXPECT_EQ(cpu_quota("0::/other\n", mounts()), std::nullopt);
}

TEST_F(ControlGroup, OfVersion1IsTheRootOfAContainer) {
  write("cpu,cpuacct/cpu.cfs_quota_us", "60000");
  write("cpu,cpuacct/cpu.cfs_period_us", "100000");
  const std::string groups = "5:pids:/docker/1f\n4:cpu,cpuacct:/docker/1f\n0::/\n";
  EXPECT_EQ(cpu_quota(groups, mounts()), 0.6);
  write("cpu,cpuacct/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(cpu_quota(groups, mounts()), std::nullopt);
}

}  // namespace
}  // namespace regatta::system
