// SPDX-License-Identifier: Apache-2.0
#include "harness/run/peak.h"

#include <gtest/gtest.h>

#include "harness/system/process.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::run {
namespace {

TEST(Peak, OfAGpuIsTheOneOfItsDataSheet) {
  EXPECT_EQ(peak_of_gpu("NVIDIA H200", ElementType::BF16)->flops_per_s, 989e12);
  EXPECT_EQ(peak_of_gpu("NVIDIA H200 NVL", ElementType::BF16)->flops_per_s, 835e12);
  const std::optional<Peak> peak = peak_of_gpu("NVIDIA A100-SXM4-80GB", ElementType::F32);
  EXPECT_EQ(peak->flops_per_s, 19.5e12);
  EXPECT_EQ(peak->of, "NVIDIA A100-SXM4-80GB");
  EXPECT_FALSE(peak_of_gpu("NVIDIA GeForce RTX 4090", ElementType::BF16));
}

TEST(Peak, OfCoresIsTheHighestMeasured) {
  const std::vector<int> cores = system::available_cores(0);
  const auto count = static_cast<double>(cores.size());
  const Peak peak = measured_peak(ElementType::F32, cores);
  EXPECT_EQ(peak.of, "measured");
  EXPECT_GT(peak.flops_per_s, 1e9 * count);   // a product a cycle
  EXPECT_LT(peak.flops_per_s, 1e12 * count);  // 128 of them at 4 GHz
  const std::int64_t begin = now_ns();
  EXPECT_GE(measured_peak(ElementType::F32, cores).flops_per_s, peak.flops_per_s);
  EXPECT_GE(now_ns() - begin, 60'000'000) << "it is not measured again";
}

TEST(Bandwidth, IsThatOfMemory) {
  const std::vector<int> cores = system::available_cores(0);
  const double all = measured_bandwidth(cores);
  EXPECT_GT(all, 0.5e9);
  EXPECT_LT(all, 200e9 * static_cast<double>(cores.size()));  // more would be a cache, or nothing
}

}  // namespace
}  // namespace regatta::run
