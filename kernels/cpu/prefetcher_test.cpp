// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/prefetcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <vector>

#include "kernels/runtime/counter.h"

namespace regatta::cpu {
namespace {

TEST(Prefetcher, EndsItsWaitWhenTheRunIsAborted) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  Prefetcher prefetcher([&](std::int64_t, std::size_t) { released.wait(); });
  AbortFlag abort;
  abort.raised = true;
  EXPECT_THROW(prefetcher.take(0, &abort, [](std::size_t) {}), Aborted);
  release.set_value();
}

TEST(Prefetcher, PreparesTwoStepsAheadAndNoMore) {
  std::atomic<std::int64_t> prepared{0};
  Prefetcher prefetcher([&](std::int64_t, std::size_t) {
    prepared += 1;
    prepared.notify_all();
  });
  prepared.wait(0);
  prepared.wait(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(prepared, 2);
  prefetcher.take(0, nullptr, [](std::size_t) {});
  prepared.wait(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(prepared, 3);
}

TEST(Prefetcher, HandsOutTheStepThatIsAskedForWhereverItStarts) {
  std::vector<std::int64_t> buffers(2);
  Prefetcher prefetcher([&](std::int64_t step, std::size_t buffer) { buffers[buffer] = step; });
  for (std::int64_t step : {0, 1, 2, 7, 8, 3, 3, 4, 4, 100, 0}) {
    std::int64_t held = -1;
    prefetcher.take(step, nullptr, [&](std::size_t buffer) { held = buffers[buffer]; });
    EXPECT_EQ(held, step);
  }
}

}  // namespace
}  // namespace regatta::cpu
