// SPDX-License-Identifier: Apache-2.0
//
// Shares of replicas that share a GPU, like gpu_sums_test: reduced and gathered by one kernel in a
// queue, they have the bits of those that the host carries.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cuda/device/late_device_for_test.h"
#include "kernels/cuda/device/on_devices_for_test.h"
#include "kernels/cuda/gpu_sums_for_test.h"

namespace regatta {
namespace {

using cuda::testing_support::On;
using testing_support::expect_same_bits;
using testing_support::kSteps;
using testing_support::SumBy;
using Options = testing_support::SummedRun;
using Training = testing_support::SummedTraining;

struct ShareCase {
  On on = On::Emulated;
  std::string strategy = "sharded";
  OptionValues given = {};
  std::int64_t replicas = 1;
};

std::vector<ShareCase> share_cases() {
  std::vector<ShareCase> all;
  for (const On on : {On::Emulated, On::Gpu}) {
    for (const std::int64_t replicas : {1, 2, 5}) {
      for (const char* shard : {"optimizer", "gradients", "parameters"}) {
        all.push_back({on, "sharded", {{"shard", shard}}, replicas});
      }
      all.push_back({on, "all_reduce+top_k", {{"share", 0.5}}, replicas});
    }
  }
  return all;
}

std::string name_of_shares(const testing::TestParamInfo<ShareCase>& info) {
  std::string name = testing_support::identifier_of(info.param.strategy) + "_" +
                     to_text(info.param.given.begin()->second) + "_" +
                     std::to_string(info.param.replicas) + "_replicas";
  std::replace(name.begin(), name.end(), '.', '_');
  return name + (info.param.on == On::Gpu ? "_gpu" : "_emulated");
}

class GpuShares : public testing::TestWithParam<ShareCase> {
 protected:
  void SetUp() override { cuda::testing_support::make_device(GetParam().on, device_); }
  Options options() const {
    return {.strategy = GetParam().strategy,
            .given = GetParam().given,
            .replicas = GetParam().replicas};
  }

  std::unique_ptr<Device> device_;
};

TEST_P(GpuShares, GiveTheBitsOfTheHosts) {
  cuda::testing_support::LateGpu late;
  for (const std::int64_t bucket_bytes : {0, 1 << 20}) {
    Options way = options();
    way.bucket_bytes = bucket_bytes;
    way.sum = SumBy::Host;
    Training expected(*device_, way);
    expected.run();
    way.sum = SumBy::Gpu;
    Training run(*device_, way);
    expect_same_bits(run.run(), expected);
    way.launch = LaunchSteps::AsOne;
    Training captured(*device_, way);
    expect_same_bits(captured.run(), expected);
    if (GetParam().on == On::Gpu) continue;
    way.launch = LaunchSteps::ByKernel;
    Training behind(late, way);
    expect_same_bits(behind.run(), expected);
  }
}

TEST_P(GpuShares, CountTheMessagesOfTheAlgorithm) {
  for (const LaunchSteps launch : {LaunchSteps::ByKernel, LaunchSteps::AsOne}) {
    Options way = options();
    way.launch = launch;
    Training run(*device_, way);
    const TrafficByPlace counted = run.run().transport().traffic();
    for (const auto& [place, expected] : traffic(run.executor().step().graph)) {
      EXPECT_EQ(counted.at(place).sent, kSteps * expected.sent) << to_string(place);
      EXPECT_EQ(counted.at(place).received, kSteps * expected.received) << to_string(place);
      EXPECT_EQ(counted.at(place).messages, kSteps * expected.messages) << to_string(place);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, GpuShares, testing::ValuesIn(share_cases()), name_of_shares);

}  // namespace
}  // namespace regatta
