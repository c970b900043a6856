// SPDX-License-Identifier: Apache-2.0
#include "harness/run/training_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace regatta::run {
namespace {

constexpr std::int64_t kNapNs = 5'000'000;

void nap() { std::this_thread::sleep_for(std::chrono::nanoseconds(kNapNs)); }

TEST(TrainingClock, StandsWhileNothingTrains) {
  TrainingClock clock;
  nap();
  EXPECT_EQ(clock.elapsed_ns(), 0);
  EXPECT_EQ(clock.examples_per_s(100), 0);
  clock.start();
  nap();
  clock.stop();
  const std::int64_t trained = clock.elapsed_ns();
  EXPECT_GE(trained, kNapNs);
  nap();
  EXPECT_EQ(clock.elapsed_ns(), trained);
  clock.start();
  nap();
  clock.stop();
  EXPECT_GE(clock.elapsed_ns(), trained + kNapNs);
}

TEST(TrainingClock, TellsBeforeItStops) {
  TrainingClock clock;
  clock.start();
  nap();
  const std::int64_t early = clock.elapsed_ns();
  EXPECT_GE(early, kNapNs);
  nap();
  EXPECT_GE(clock.elapsed_ns(), early + kNapNs);
}

TEST(TrainingClock, GoesOnFromAnEarlierPieceOfTheRun) {
  TrainingClock clock;
  clock.begin_at(2'000'000'000);
  EXPECT_DOUBLE_EQ(clock.examples_per_s(100), 50);
  clock.start();
  nap();
  clock.stop();
  EXPECT_GE(clock.elapsed_ns(), 2'000'000'000 + kNapNs);
}

}  // namespace
}  // namespace regatta::run
