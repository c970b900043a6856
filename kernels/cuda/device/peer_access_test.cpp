// SPDX-License-Identifier: Apache-2.0
//
// Tests peer access with a double of the CUDA runtime's calls: four GPUs in two pairs.
#include "kernels/cuda/device/peer_access.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <utility>

#include "kernels/base/error.h"

namespace regatta::cuda {
namespace {

constexpr std::array kFour{0, 1, 2, 3};

/// The state that the calls have changed.
struct Machine {
  int current = -1;
  int refuses = -1;                       ///< a GPU to which access cannot be enabled
  std::set<std::pair<int, int>> enabled;  ///< reader, owner
  std::multiset<std::pair<int, int>> asked;
};
Machine machine;

/// GPUs 0 and 1 reach each other, as do 2 and 3; 1 reaches 2, but 2 does not reach 1.
cudaError_t can_access(int* can, int device, int peer) {
  *can = device / 2 == peer / 2 || (device == 1 && peer == 2) ? 1 : 0;
  return device == peer ? cudaErrorInvalidDevice : cudaSuccess;
}

cudaError_t set_device(int device) {
  machine.current = device;
  return cudaSuccess;
}

cudaError_t enable(int peer, unsigned flags) {
  if (flags != 0) return cudaErrorInvalidValue;
  if (peer == machine.refuses) return cudaErrorTooManyPeers;
  machine.asked.insert({machine.current, peer});
  return machine.enabled.insert({machine.current, peer}).second ? cudaSuccess
                                                                : cudaErrorPeerAccessAlreadyEnabled;
}

constexpr PeerCalls kCalls{.device_can_access_peer = can_access,
                           .set_device = set_device,
                           .device_enable_peer_access = enable};

class PeerAccess : public testing::Test {
 protected:
  void SetUp() override { machine = {}; }
};

TEST_F(PeerAccess, IsTurnedOnOnceInEachDirectionThatThereIs) {
  const std::map<int, std::vector<int>> expected{{0, {1}}, {1, {0}}, {2, {1, 3}}, {3, {2}}};
  EXPECT_EQ(enable_peer_access(kFour, kCalls), expected);
  const std::multiset<std::pair<int, int>> asked{{0, 1}, {1, 0}, {1, 2}, {2, 3}, {3, 2}};
  EXPECT_EQ(machine.asked, asked);
}

TEST_F(PeerAccess, StaysWhereItWasOnAlready) {
  machine.enabled = {{0, 1}};
  EXPECT_EQ(enable_peer_access(std::array{0, 1}, kCalls).at(1), std::vector<int>{0});
}

TEST_F(PeerAccess, OfOneGpuIsNoMatter) {
  EXPECT_TRUE(enable_peer_access(std::array{2}, kCalls).at(2).empty());
  EXPECT_TRUE(machine.asked.empty());
}

TEST_F(PeerAccess, ThatCannotBeTurnedOnIsAnErrorInCudasWords) {
  machine.refuses = 3;
  try {
    enable_peer_access(kFour, kCalls);
    FAIL() << "nothing was thrown";
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Device);
    EXPECT_NE(std::string(error.what()).find("cudaDeviceEnablePeerAccess"), std::string::npos);
  }
}

}  // namespace
}  // namespace regatta::cuda
