// SPDX-License-Identifier: Apache-2.0
//
// Tests a straggler's delays against the steady clock: delays of microseconds and milliseconds add
// up to the owed time, and an abort ends a long one.
#include "kernels/runtime/compute_delay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "kernels/runtime/counter.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta {
namespace {

constexpr double kTolerance = 0.02;

struct Spans {
  std::int64_t each_ns = 0;
  int count = 0;
};

/// Sums of delays as multiples of the computed time.
struct Delayed {
  double measured = 0;  ///< by the steady clock
  double told = 0;      ///< by ComputeDelay
};

Delayed delay_spans(double factor, const Spans& spans) {
  ComputeDelay delay(factor, nullptr);
  const auto span = static_cast<std::uint64_t>(static_cast<double>(spans.each_ns) / ns_per_tick());
  const std::int64_t begin = now_ns();
  std::uint64_t end = ticks();
  for (int i = 0; i < spans.count; ++i) end = delay.after(span, end);
  const auto measured = static_cast<double>(now_ns() - begin);
  const double computed = static_cast<double>(spans.each_ns) * spans.count;
  return {.measured = measured / computed,
          .told = static_cast<double>(ticks_to_ns(delay.total())) / computed};
}

bool is_near(const Delayed& delayed, double factor) {
  return std::abs(1 + delayed.measured - factor) <= kTolerance * factor &&
         std::abs(delayed.told - delayed.measured) <= kTolerance / 4;
}

/// The first of some tries that is near the factor, or else the last: a thread may lose its core in
/// the last delays or between two, and so come late.
Delayed delay_spans_on_a_busy_machine(double factor, const Spans& spans) {
  constexpr int kTries = 50;
  Delayed delayed = delay_spans(factor, spans);
  for (int i = 1; i < kTries && !is_near(delayed, factor); ++i) {
    delayed = delay_spans(factor, spans);
  }
  return delayed;
}

TEST(ComputeDelay, MakesSpansOfAnyLengthTheirFactorTimesAsLong) {
  for (const double factor : {1.01, 1.5, 2.0, 3.0}) {
    for (const Spans spans :
         {Spans{.each_ns = 1'000, .count = 20'000}, Spans{.each_ns = 30'000, .count = 1'000},
          Spans{.each_ns = 300'000, .count = 100}, Spans{.each_ns = 10'000'000, .count = 5}}) {
      const Delayed delayed = delay_spans_on_a_busy_machine(factor, spans);
      EXPECT_NEAR(1 + delayed.measured, factor, kTolerance * factor) << spans.each_ns;
      EXPECT_NEAR(delayed.told, delayed.measured, kTolerance / 4) << spans.each_ns;
    }
  }
}

/// Later delays make up for one that was too long.
TEST(ComputeDelay, OwesLessAfterADelayThatWasTooLong) {
  ComputeDelay delay(2, nullptr);
  const auto ticks_of = [](std::int64_t ns) {
    return static_cast<std::uint64_t>(static_cast<double>(ns) / ns_per_tick());
  };
  const std::uint64_t begin = ticks();
  while (ticks() - begin < ticks_of(5'000'000)) {
  }
  const std::uint64_t woke = delay.after(ticks_of(1'000'000), begin);  // 4 ms too late
  EXPECT_GE(delay.total(), ticks_of(5'000'000));
  EXPECT_EQ(delay.after(ticks_of(1'000'000), woke), woke);
}

TEST(ComputeDelay, EndsEarlyWhenTheRunDoes) {
  AbortFlag abort;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    abort.raised = true;
  });
  ComputeDelay delay(1000, &abort);
  const std::int64_t begin = now_ns();
  const auto second = static_cast<std::uint64_t>(1e9 / ns_per_tick());
  EXPECT_THROW(delay.after(second, ticks()), Aborted);
  EXPECT_LT(now_ns() - begin, 20'000'000'000);
  other.join();
}

}  // namespace
}  // namespace regatta
