// SPDX-License-Identifier: Apache-2.0
//
// Push times at a server: given by hand, and over real connections with a worker that sleeps.
#include "kernels/comm/grpc/push_ledger.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "kernels/comm/grpc/exchange_for_test.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {
namespace {

using test::End;
using test::options_of;

constexpr Place kServer{.replica = 0, .stage = 0, .role = Role::Server};

std::uint64_t ticks_of_ms(double ms) {
  return static_cast<std::uint64_t>(ms * 1e6 / ns_per_tick());
}

TEST(PushLedger, TakesTheLastMessageOfAPushForItsEnd) {
  PushLedger ledger(kServer);
  const std::size_t a = ledger.expect({.replica = 0});
  const std::size_t b = ledger.expect({.replica = 1});
  const std::size_t c = ledger.expect({.replica = 0});
  for (int step = 0; step < 2; ++step) {  // worker 0 is complete after 7 ms, worker 1 after 5 ms
    ledger.note(c, ticks_of_ms(1));
    ledger.note(b, ticks_of_ms(5));
    ledger.note(a, ticks_of_ms(7));
  }
  ledger.note(a, ticks_of_ms(100));  // in a step that never ends
  ExchangeTimesByPlace all;
  ledger.add_to(all);
  EXPECT_NEAR(static_cast<double>(all.at({.replica = 0}).late.sum()), 4e6, 1e3);
  EXPECT_EQ(all.at({.replica = 1}).late.sum(), 0);
  EXPECT_EQ(all.at({.replica = 1}).late.count(), 2);
  EXPECT_EQ(all.at({.replica = 1}).pushes, 2);
  EXPECT_NEAR(static_cast<double>(all.at(kServer).barrier.largest()), 2e6, 1e3);
  EXPECT_EQ(all.at(kServer).pushes, 4);
}

TEST(PushLedger, CallsOneWorkerAloneNeitherLateNorWaitedFor) {
  PushLedger ledger(kServer);
  ledger.note(ledger.expect({.replica = 3}), 5);
  ExchangeTimesByPlace all;
  ledger.add_to(all);
  EXPECT_EQ(all.at({.replica = 3}).late.count(), 0);
  EXPECT_EQ(all.at({.replica = 3}).pushes, 1);
  EXPECT_EQ(all.at(kServer).barrier.count(), 0);
}

/// A server's receive of the push of worker `worker`.
std::unique_ptr<test::MessageEnd> push_end(End& server, int worker, std::int64_t bytes) {
  return std::make_unique<test::MessageEnd>(
      server.table, Op::Receive, worker, worker, std::vector{bytes}, kServer,
      Attributes::Value(std::vector<std::int64_t>{worker, 0, 0, 0}));
}

TEST(GrpcExchange, TellsWhichPushCameLateAndWhatEachWentThrough) {
  constexpr std::int64_t kSteps = 4;
  constexpr std::int64_t kPushBytes = 9 << 20;             // three chunks
  constexpr auto kSleep = std::chrono::milliseconds(150);  // long enough for a busy machine
  constexpr std::int64_t kLateNs = 15'000'000;
  End server(options_of(0, 3));
  const std::string address = server.exchange.serve();
  const auto from_one = push_end(server, 1, kPushBytes);
  const auto from_two = push_end(server, 2, kPushBytes);
  std::vector<std::thread> workers;
  for (int process = 1; process < 3; ++process) {
    workers.emplace_back([&, process] {
      End worker(options_of(process, 3));
      worker.exchange.connect(0, address);
      const auto send = worker.send(process, 0, {kPushBytes});
      const auto go = worker.receive(10 + process, 0, {1});
      for (std::int64_t step = 0; step < kSteps; ++step) {
        if (process == 2) std::this_thread::sleep_for(kSleep);
        send->run(step);
        go->run(step);
      }
    });
  }
  const auto go_one = server.send(11, 1, {1});
  const auto go_two = server.send(12, 2, {1});
  for (std::int64_t step = 0; step < kSteps; ++step) {
    from_two->run(step);  // meanwhile the first worker's push waits in the queue
    from_one->run(step);
    go_one->run(step);
    go_two->run(step);
  }
  for (std::thread& worker : workers) worker.join();
  const auto times = server.exchange.exchange_times();
  const ExchangeTimes& at_server = times.at(kServer);
  EXPECT_GT(times.at({.replica = 2}).late.quantile(0.5), kLateNs);
  EXPECT_EQ(times.at({.replica = 1}).late.quantile(0.5), 0);
  EXPECT_EQ(at_server.barrier.count(), kSteps);
  EXPECT_GT(at_server.barrier.quantile(0.5), kLateNs);
  EXPECT_EQ(at_server.queue.count(), 2 * kSteps);
  EXPECT_GT(at_server.queue.largest(), kLateNs);
  EXPECT_GT(at_server.wire.quantile(0), 0);
  EXPECT_EQ(at_server.pushes, 2 * kSteps);
}

}  // namespace
}  // namespace regatta::comm
