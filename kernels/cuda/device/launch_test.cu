// SPDX-License-Identifier: Apache-2.0
//
// Tests that the same bodies give the same results on the emulated queue and, if there is one, on a
// GPU.
#include "kernels/cuda/device/launch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/cuda/device/on_devices_for_test.h"

namespace regatta::cuda {
namespace {

using testing_support::kDevices;
using testing_support::name_of_device;

class Launch : public testing_support::OnDevices {};
INSTANTIATE_TEST_SUITE_P(On, Launch, kDevices, name_of_device);

struct Visit {
  int* visits;
  __host__ __device__ void operator()(std::int64_t i) const { ++visits[i]; }
};

/// sums[block] = sum of `threads` numbers, by halves in shared memory.
struct BlockSum {
  const float* numbers;
  float* sums;

  __host__ __device__ void operator()(const Block& block) const {
    auto* partial = reinterpret_cast<float*>(block.shared);
    const float* mine = numbers + block.index * block.threads;
    block.each([&](int thread) { partial[thread] = mine[thread]; });
    for (int half = block.threads / 2; half > 0; half /= 2) {
      block.each([&](int thread) {
        if (thread < half) partial[thread] += partial[thread + half];
      });
    }
    block.each([&](int thread) {
      if (thread == 0) sums[block.index] = partial[0];
    });
  }
};

/// Stores the value found in shared memory, and leaves zero there.
struct LookAtShared {
  float* seen;
  __host__ __device__ void operator()(const Block& block) const {
    auto* shared = reinterpret_cast<float*>(block.shared);
    seen[block.index] = *shared;
    *shared = 0;
  }
};

struct ReadStep {
  const StepValues* values;
  std::int64_t* sum;
  __host__ __device__ void operator()(std::int64_t) const {
    *sum = values->step + 10 * values->examples + 100 * values->examples_before;
  }
};

TEST_P(Launch, VisitsEveryElementOnce) {
  constexpr std::int64_t kElements = 70'001;
  int* const memory = allocate<int>(kElements + 1);
  for_each(queue(), kElements, Visit{memory});
  for_each(queue(), 0, Visit{memory});
  queue().finish();
  const std::vector<int> visits = read(memory, kElements + 1);
  EXPECT_EQ(std::accumulate(visits.begin(), visits.end(), 0), kElements);
  EXPECT_EQ(*std::max_element(visits.begin(), visits.end()), 1);
  EXPECT_EQ(visits.back(), 0);
}

TEST_P(Launch, LetsABlockShareMemoryFromOneEachToTheNext) {
  constexpr std::int64_t kBlocks = 4;
  constexpr int kThreads = 64;
  std::vector<float> numbers(kBlocks * kThreads);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  float* const sums = allocate<float>(kBlocks);
  for_each_block(queue(), kBlocks, kThreads, kThreads * sizeof(float),
                 BlockSum{upload(numbers), sums});
  queue().finish();
  for (std::int64_t block = 0; block < kBlocks; ++block) {
    const auto first = numbers.begin() + block * kThreads;
    EXPECT_EQ(read(sums + block, 1)[0], std::accumulate(first, first + kThreads, 0.0F));
  }
}

/// 96 KiB, more than a launch gets without a special request.
TEST_P(Launch, GivesABlockMuchSharedMemory) {
  std::vector<float> numbers(32);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  float* const sums = allocate<float>(1);
  for_each_block(queue(), 1, 32, 96 * 1024, BlockSum{upload(numbers), sums});
  queue().finish();
  EXPECT_EQ(read(sums, 1)[0], 31 * 32 / 2);
}

TEST_P(Launch, ReadsTheStepWhereTheQueueKeepsIt) {
  auto* sum = allocate<std::int64_t>(1);
  queue().begin_step({.step = 1, .examples = 2, .examples_before = 3});
  for_each(queue(), 1, ReadStep{.values = queue().values(), .sum = sum});
  queue().finish();
  EXPECT_EQ(read(sum, 1)[0], 321);
}

TEST(LoadKernels, KnowsThemBeforeTheyAreLaunched) {
  EXPECT_EQ(noted_kernels() > 3, detail::kHasDeviceCode) << noted_kernels();
}

TEST(EmulatedLaunch, HandsOutSharedMemoryThatIsNotZero) {
  const auto device = make_emulated_device();
  const auto queue = device->make_queue();
  std::vector<float> seen(2, 0);
  for_each_block(dynamic_cast<Queue&>(*queue), 2, 1, sizeof(float), LookAtShared{seen.data()});
  EXPECT_TRUE(std::isnan(seen[0]));
  EXPECT_TRUE(std::isnan(seen[1]));
}

}  // namespace
}  // namespace regatta::cuda
