// SPDX-License-Identifier: Apache-2.0
//
// The counter and the gate under real threads: no wake-up is missed, waits end at their limit and
// at an abort, and followers get the leader's tickets in order.
#include "kernels/runtime/counter.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "kernels/runtime/loops/gate.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta {
namespace {

class CounterWaits : public testing::TestWithParam<Patience> {};

// Two threads take turns; a missed wake-up costs a nap of 50 ms, so 2,000 turns would show it.
TEST_P(CounterWaits, MissesNoWakeUp) {
  constexpr std::uint64_t kTurns = 2000;
  std::array<Counter, 2> counters;
  std::uint64_t shared = 0;  // not atomic: the counters order the accesses
  const auto take_turns = [&](std::size_t self) {
    for (std::uint64_t turn = 1; turn <= kTurns; ++turn) {
      // Thread 1 waits for thread 0's turn, and thread 0 for thread 1's turn before.
      EXPECT_TRUE(counters[1 - self].wait_for(self == 1 ? turn : turn - 1, GetParam()));
      ++shared;
      counters[self].advance_to(turn);
    }
  };
  const std::int64_t begin = now_ns();
  std::thread other([&] { take_turns(1); });
  take_turns(0);
  other.join();
  EXPECT_EQ(shared, 2 * kTurns);
  EXPECT_LT(now_ns() - begin, 40'000'000'000);
}

INSTANTIATE_TEST_SUITE_P(Ways, CounterWaits,
                         testing::Values(Patience{}, Patience{.abort = nullptr, .spins = 400},
                                         Patience{.abort = nullptr, .spins = 0, .yields = 50}));

TEST(Counter, EndsAWaitAtItsLimitAndAtAnAbort) {
  Counter counter;
  EXPECT_FALSE(
      counter.wait_for(1, {.abort = nullptr, .spins = 0, .yields = 0, .limit_ns = 5'000'000}));
  AbortFlag abort;
  std::thread waiter([&] { EXPECT_THROW(counter.wait_for(1, {.abort = &abort}), Aborted); });
  abort.raised = true;
  waiter.join();
}

TEST(Gate, FollowersGetTheLeadersTicketsInOrder) {
  constexpr std::int64_t kSteps = 1000;
  Gate gate;
  ExampleCount count;
  count.target = kSteps * 3;
  Counter finished;  // the follower's steps
  std::thread follower([&] {
    for (std::int64_t step = 0;; ++step) {
      bool timed_out = false;
      const Ticket ticket = gate.follow(static_cast<std::uint64_t>(step), Patience{}, timed_out);
      ASSERT_FALSE(timed_out);
      EXPECT_EQ(ticket.runs, step < kSteps);
      EXPECT_EQ(ticket.examples, 3 * step);
      if (!ticket.runs) return;
      finished.advance_to(static_cast<std::uint64_t>(step) + 1);
    }
  });
  for (std::uint64_t step = 0;; ++step) {
    const Ticket ticket = count.claim(3);
    gate.issue(ticket);
    if (!ticket.runs) break;
    ASSERT_TRUE(finished.wait_for(step, Patience{}));
  }
  follower.join();
}

}  // namespace
}  // namespace regatta
