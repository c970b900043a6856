// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/loops/access_order.h"

#include <gtest/gtest.h>

#include <thread>

#include "kernels/base/error_for_test.h"

namespace regatta {
namespace {

using regatta::testing_support::error_of;

using Access = AccessOrder::Access;

constexpr int kLoops = 4;

/// Loops that each write their number when their turn comes.
class Writers {
 public:
  explicit Writers(AccessOrder& order) {
    for (int loop = 0; loop < kLoops; ++loop) {
      seats_.push_back(&order.seat_of_claims(0, loop));
    }
  }
  void write(const std::vector<int>& times) {
    std::vector<std::jthread> threads;
    for (int loop = 0; loop < kLoops; ++loop) {
      threads.emplace_back([this, loop, count = times[static_cast<std::size_t>(loop)]] {
        const AbortFlag abort;
        for (int i = 0; i < count; ++i) {
          seats_[static_cast<std::size_t>(loop)]->take({.abort = &abort});
          written.push_back(loop);
          seats_[static_cast<std::size_t>(loop)]->pass();
        }
      });
    }
  }
  std::vector<int> written;  ///< guarded by the turns

 private:
  std::vector<AccessOrder::Seat*> seats_;
};

TEST(AccessOrder, IsThatOfTheTurnsThatWereGiven) {
  AccessOrder order;
  Writers writers(order);
  std::vector<int> expected;
  const auto give = [&](int loop) {
    order.add(order.order_of_claims(0), {.loop = loop, .access = Access::Claim});
    expected.push_back(loop);
  };
  for (int i = 0; i < 500; ++i) {
    give(i % kLoops);
    give(0);
  }
  order.begin();
  writers.write({625, 125, 125, 125});
  for (const int loop : {3, 3, 1}) give(loop);  // as after an evaluation
  order.begin();
  writers.write({0, 1, 0, 2});
  EXPECT_EQ(writers.written, expected);
}

TEST(AccessOrder, EndsTheWaitOfARunThatIsAborted) {
  AccessOrder order;
  AbortFlag abort;
  AccessOrder::Seat& seat = order.seat_of_claims(0, 1);
  order.begin();  // grants no turn
  std::jthread waiting([&] { EXPECT_THROW(seat.take({.abort = &abort}), Aborted); });
  abort.raised = true;
}

TEST(AccessOrder, TellsWhatWasWaitedFor) {
  AccessOrder order;
  const AbortFlag abort;
  AccessOrder::Seat& seat = order.seat_of_claims(0, 1);
  order.begin();
  const std::string error =
      error_of([&] { seat.take({.abort = &abort, .limit_ns = 1'000'000}); }, ErrorKind::Timeout);
  EXPECT_NE(error.find("the examples of model 0"), std::string::npos);
}

TEST(AccessOrder, RefusesTurnsThatNoLoopTakes) {
  AccessOrder order;
  order.add(order.order_of_claims(0), {.loop = 3, .access = Access::Claim});
  EXPECT_THROW(order.begin(), RunError);
}

}  // namespace
}  // namespace regatta
