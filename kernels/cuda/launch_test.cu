// SPDX-License-Identifier: Apache-2.0
//
// Launches on the emulated queue; the same bodies are compiled for every GPU of the build.
#include "kernels/cuda/launch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace regatta::cuda {
namespace {

/// sums[block] = sum of `width` numbers, by halves in shared memory.
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

struct Visit {
  int* visits;
  __host__ __device__ void operator()(std::int64_t i) const { ++visits[i]; }
};

/// Tells what shared memory held, and leaves zero.
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

TEST(Launch, VisitsEveryElementOnce) {
  const auto queue = make_emulated_queue();
  std::vector<int> visits(1000, 0);
  for_each(*queue, 1000, Visit{visits.data()});
  EXPECT_EQ(visits, std::vector<int>(1000, 1));
  for_each(*queue, 0, Visit{visits.data()});
  EXPECT_EQ(visits, std::vector<int>(1000, 1));
}

TEST(Launch, LetsABlockShareMemoryFromOneEachToTheNext) {
  const auto queue = make_emulated_queue();
  std::vector<float> numbers(4 * 64);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  std::vector<float> sums(4, -1);
  for_each_block(*queue, 4, 64, 64 * sizeof(float), BlockSum{numbers.data(), sums.data()});
  for (std::size_t block = 0; block < sums.size(); ++block) {
    const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(block) * 64;
    EXPECT_EQ(sums[block], std::accumulate(first, first + 64, 0.0F));
  }
}

TEST(Launch, HandsOutSharedMemoryThatIsNotZero) {
  const auto queue = make_emulated_queue();
  std::vector<float> seen(2, 0);
  for_each_block(*queue, 2, 1, sizeof(float), LookAtShared{seen.data()});
  EXPECT_TRUE(std::isnan(seen[0]));
  EXPECT_TRUE(std::isnan(seen[1]));
}

TEST(Launch, ReadsTheStepWhereTheQueueKeepsIt) {
  const auto queue = make_emulated_queue();
  std::int64_t sum = 0;
  queue->begin_step({.step = 1, .examples = 2, .examples_before = 3});
  for_each(*queue, 1, ReadStep{.values = queue->values(), .sum = &sum});
  EXPECT_EQ(sum, 321);
}

}  // namespace
}  // namespace regatta::cuda
