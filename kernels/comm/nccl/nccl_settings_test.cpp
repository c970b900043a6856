// SPDX-License-Identifier: Apache-2.0
//
// NCCL's settings, the texts that processes exchange before using it, the installed library.
#include "kernels/comm/nccl/nccl_settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "kernels/base/error_for_test.h"
#include "kernels/comm/nccl/nccl_members_for_test.h"
#include "kernels/comm/nccl/nccl_roll.h"
#include "kernels/comm/nccl/nccl_transport.h"

namespace regatta::testing_support {
namespace {

TEST(NcclSettings, PinRingByNcclsVariableAsLongAsItIsNeeded) {
  unsetenv("NCCL_ALGO");
  {
    const comm::PinnedNcclAlgorithm pinned(kRing);
    EXPECT_STREQ(std::getenv("NCCL_ALGO"), "Ring");
    EXPECT_EQ(comm::nccl_variables().at("NCCL_ALGO"), "Ring");
  }
  EXPECT_EQ(std::getenv("NCCL_ALGO"), nullptr);
  const comm::PinnedNcclAlgorithm chosen_by_nccl(kNccl);
  EXPECT_EQ(std::getenv("NCCL_ALGO"), nullptr);
}

TEST(NcclSettings, RefuseRingWhereTheEnvironmentWantsAnotherAlgorithm) {
  setenv("NCCL_ALGO", "Tree", 1);
  const std::string error =
      error_of([] { const comm::PinnedNcclAlgorithm pinned(kRing); }, ErrorKind::Usage);
  EXPECT_EQ(error,
            "--all-reduce ring, but NCCL_ALGO is 'Tree' in the environment: unset it, or use "
            "--all-reduce nccl");
  setenv("NCCL_ALGO", "ring", 1);
  const comm::PinnedNcclAlgorithm pinned(kRing);
  unsetenv("NCCL_ALGO");
}

TEST(NcclSettings, KeepNcclAtAnInterfaceUnlessTheUserHasChosenOne) {
  unsetenv("NCCL_SOCKET_IFNAME");
  {
    const comm::PinnedNcclInterface pinned("lo");
    EXPECT_STREQ(std::getenv("NCCL_SOCKET_IFNAME"), "=lo");
  }
  EXPECT_EQ(std::getenv("NCCL_SOCKET_IFNAME"), nullptr);
  {
    const comm::PinnedNcclInterface none("");
    EXPECT_EQ(std::getenv("NCCL_SOCKET_IFNAME"), nullptr);
  }
  setenv("NCCL_SOCKET_IFNAME", "eth9", 1);
  {
    const comm::PinnedNcclInterface pinned("lo");
    EXPECT_STREQ(std::getenv("NCCL_SOCKET_IFNAME"), "eth9");
  }
  unsetenv("NCCL_SOCKET_IFNAME");
}

TEST(NcclSettings, LetRanksShareAGpuUnlessTheUserForbidsIt) {
  unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
  {
    std::optional<comm::SharedGpuPermission> permission(std::in_place);
    EXPECT_STREQ(std::getenv("NCCL_MULTI_RANK_GPU_ENABLE"), "1");
    const comm::SharedGpuPermission another;
    permission.reset();
    EXPECT_STREQ(std::getenv("NCCL_MULTI_RANK_GPU_ENABLE"), "1") << "one still needs it";
    another.require();
  }
  EXPECT_EQ(std::getenv("NCCL_MULTI_RANK_GPU_ENABLE"), nullptr);
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "0", 1);
  const comm::SharedGpuPermission forbidden;
  const std::string error = error_of([&] { forbidden.require(); }, ErrorKind::Usage);
  EXPECT_EQ(
      error,
      "members of an all_reduce by NCCL share a GPU, but NCCL_MULTI_RANK_GPU_ENABLE is '0' in "
      "the environment: unset it, or use --all-reduce reduce_to_one");
  unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
}

TEST(NcclRoll, SaysWhichMembersAreOnOneGpu) {
  comm::NcclRoll roll;
  roll.add_member("0,1", 0, {.gpu = "host/gpu0", .buckets = "0:7"});
  roll.add_member("0,1", 1, {.gpu = "host/gpu0", .buckets = "0:7"});
  roll.add_id("0,1", "id");
  const comm::NcclClique clique = comm::NcclRoll::read({roll.text()}).at("0,1");
  EXPECT_TRUE(comm::NcclRoll::shares_gpus(clique));
  comm::NcclRoll::verify("0,1", clique, 2, comm::SharedGpus::Allowed);
  const std::string error =
      error_of([&] { comm::NcclRoll::verify("0,1", clique, 2, comm::SharedGpus::Refused); },
               ErrorKind::Usage);
  EXPECT_NE(error.find("install NCCL 2.30.3 or newer"), std::string::npos) << error;
}

TEST(NcclRoll, SaysWhichMemberIsNowhere) {
  comm::NcclRoll roll;
  roll.add_member("0,1", 0, {.gpu = "host/gpu0", .buckets = "0:7"});
  roll.add_id("0,1", std::string("\0\x7F\xFF", 3));
  const auto known = comm::NcclRoll::read({roll.text(), ""});
  EXPECT_EQ(known.at("0,1").id, std::string("\0\x7F\xFF", 3));
  const std::string error = error_of(
      [&] { comm::NcclRoll::verify("0,1", known.at("0,1"), 2, comm::SharedGpus::Refused); },
      ErrorKind::PeerLost);
  EXPECT_EQ(error, "collectives by NCCL between processes 0,1: no process has member 1");
}

/// The installed library, if any: it can be loaded and return its version without a GPU.
TEST(NcclLibrary, TellsItsVersionOrWhatIsMissing) {
  const std::optional<std::string> version = comm::version_of_nccl();
  if (version) {
    EXPECT_EQ(version->substr(0, 2), "2.");
    EXPECT_EQ(comm::why_no_nccl(), "");
  } else {
    EXPECT_EQ(comm::why_no_nccl().find("libnccl.so.2"), 0U) << comm::why_no_nccl();
  }
}

}  // namespace
}  // namespace regatta::testing_support
