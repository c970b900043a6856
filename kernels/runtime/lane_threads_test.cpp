// SPDX-License-Identifier: Apache-2.0
//
// Tests that lanes' teams of threads leave the cores to others between runs.
#include "kernels/runtime/lane_threads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iterator>

#include "kernels/runtime/test_support.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using namespace testing_support;

std::ptrdiff_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

/// Whether the process soon has this many threads; one that ends may take a little longer.
bool soon_has_threads(std::ptrdiff_t count) {
  for (int look = 0; look < 500 && threads_of_this_process() != count; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return threads_of_this_process() == count;
}

TEST(LaneThreads, EndTheirTeamsWhileTheyRest) {
  TrialOptions options;
  options.threads_per_worker = 2;
  options.steps = 2;
  options.most_steps = 6;
  const auto losses_after = [&](bool rests) {
    Trial run(thin(64, 6), shapes(), options);
    const std::ptrdiff_t working = threads_of_this_process();
    for (std::int64_t steps = 4; steps <= 6; steps += 2) {
      if (rests) {
        run.executor().rest();
        EXPECT_TRUE(soon_has_threads(working - 1));
      }
      run.executor().run(steps * 64);
      EXPECT_TRUE(soon_has_threads(working));
    }
    const auto losses = run.executor().loss_history(0);
    return std::vector<float>(losses.begin(), losses.end());
  };
  const std::vector<float> losses = losses_after(true);
  EXPECT_EQ(losses.size(), 6U);
  EXPECT_EQ(losses, losses_after(false));
}

}  // namespace
}  // namespace regatta
