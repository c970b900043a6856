// SPDX-License-Identifier: Apache-2.0
//
// Exchanges of several processes inside one: messages arrive, and every wait ends. faults_test.py
// has processes that are killed, grpc_strangers_test.cpp strangers.
#include "kernels/comm/grpc/grpc_exchange.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "kernels/base/error_for_test.h"
#include "kernels/comm/grpc/exchange_for_test.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {
namespace {

using namespace test;
using testing_support::error_of;

/// Two connected processes; messages may be declared later.
struct Pair {
  explicit Pair(std::int64_t wait_limit_ns = 20'000'000'000)
      : server(with_limit(0, wait_limit_ns)), client(with_limit(1, wait_limit_ns)) {
    client.exchange.connect(0, server.exchange.serve());
  }
  static ExchangeOptions with_limit(int process, std::int64_t wait_limit_ns) {
    ExchangeOptions options = options_of(process, 2);
    options.wait_limit_ns = wait_limit_ns;
    return options;
  }
  End server;
  End client;
};

class Sizes : public testing::TestWithParam<std::vector<std::int64_t>> {};

TEST_P(Sizes, ArriveBitForBitInBothDirectionsStepAfterStep) {
  constexpr std::int64_t kSteps = 3;
  const auto& sizes = GetParam();
  Pair pair;
  const auto up = pair.client.send(7, 0, sizes);
  const auto up_end = pair.server.receive(7, 1, sizes);
  const auto down = pair.server.send(8, 1, sizes);
  const auto down_end = pair.client.receive(8, 0, sizes);
  std::thread server([&] {
    for (std::int64_t step = 0; step < kSteps; ++step) {
      up_end->run(step);
      EXPECT_EQ(up_end->tensors, test::random_tensors(sizes, static_cast<unsigned>(step)));
      down->set(up_end->tensors);
      down->run(step);
    }
  });
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const Tensors values = test::random_tensors(sizes, static_cast<unsigned>(step));
    up->set(values);
    up->run(step);
    // The tensors' memory is free as soon as run() returns.
    for (test::Bytes& tensor : up->tensors) std::fill(tensor.begin(), tensor.end(), 0xEE);
    down_end->run(step);
    EXPECT_EQ(down_end->tensors, values);
  }
  server.join();
}

constexpr std::int64_t kMiB = 1 << 20;
INSTANTIATE_TEST_SUITE_P(
    From4BytesTo20MiB, Sizes,
    testing::Values(std::vector<std::int64_t>{4}, std::vector<std::int64_t>{4095},
                    std::vector<std::int64_t>{4096}, std::vector<std::int64_t>{kMiB - 1},
                    std::vector<std::int64_t>{kMiB}, std::vector<std::int64_t>{kMiB + 1},
                    std::vector<std::int64_t>{20 * kMiB},
                    std::vector<std::int64_t>{4, 100'000, 12, 12, 3 * kMiB, 40, kMiB, 4}),
    [](const auto& test) {
      return std::to_string(
                 std::accumulate(test.param.begin(), test.param.end(), std::int64_t{0})) +
             "_bytes_in_" + std::to_string(test.param.size());
    });

TEST(GrpcExchange, CarriesManyMessagesInAnyOrderOfReceiving) {
  constexpr int kMessages = 40;
  constexpr std::int64_t kSteps = 25;
  Pair pair;
  std::vector<std::unique_ptr<test::MessageEnd>> sends;
  std::vector<std::unique_ptr<test::MessageEnd>> receives;
  for (int m = 0; m < kMessages; ++m) {
    const bool up = m % 2 == 0;
    const std::vector<std::int64_t> sizes = {m * m * 50 + 1};
    sends.push_back(up ? pair.client.send(m, 0, sizes) : pair.server.send(m, 1, sizes));
    receives.push_back(up ? pair.server.receive(m, 1, sizes) : pair.client.receive(m, 0, sizes));
  }
  const auto value = [](int m, std::int64_t step) {
    return static_cast<std::uint8_t>(m * 31 + step * 7);
  };
  const auto run_process = [&](int parity) {
    for (std::int64_t step = 0; step < kSteps; ++step) {
      for (int m = parity; m < kMessages; m += 2) {
        auto& tensor = sends[static_cast<std::size_t>(m)]->tensors[0];
        std::fill(tensor.begin(), tensor.end(), value(m, step));
        sends[static_cast<std::size_t>(m)]->run(step);
      }
      for (int m = kMessages - 1 - parity; m >= 0; m -= 2) {  // in reverse order
        auto& receive = *receives[static_cast<std::size_t>(m)];
        receive.run(step);
        const test::Bytes expected(receive.tensors[0].size(), value(m, step));
        ASSERT_EQ(receive.tensors[0], expected) << "message " << m << " of step " << step;
      }
    }
  };
  std::thread server([&] { run_process(1); });
  run_process(0);
  server.join();
}

TEST(GrpcExchange, CountsOnlyTheWaitForTheFirstChunkAsAWaitForOthers) {
  constexpr std::int64_t kLateNs = 50'000'000;
  Pair pair;
  const auto send = pair.client.send(1, 0, {8 * kMiB});
  const auto receive = pair.server.receive(1, 1, {8 * kMiB});
  std::thread sender([&] {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kLateNs));
    send->run(0);
  });
  const std::int64_t begin = now_ns();
  receive->run(0);
  const std::int64_t took = now_ns() - begin;
  sender.join();
  const std::int64_t waited = ticks_to_ns(receive->counters.peer_waits.until(ticks()));
  EXPECT_GT(waited, kLateNs / 2);
  EXPECT_LT(waited, took);
}

TEST(GrpcExchange, NamesStepMessageAndProcessThatSendsNothing) {
  Pair pair(30'000'000);
  const auto receive = pair.server.receive(5, 1, {100});
  const std::string error = error_of([&] { receive->run(0); }, ErrorKind::Timeout);
  EXPECT_EQ(error, "step 0, message 5: after 30 ms nothing has come from process 1");
}

TEST(GrpcExchange, NamesTheProcessThatNeverConnects) {
  ExchangeOptions options = options_of(0, 2);
  options.wait_limit_ns = 30'000'000;
  End server(options);
  server.exchange.serve();
  const auto send = server.send(5, 1, {100});
  const std::string error = error_of([&] { send->run(0); }, ErrorKind::Timeout);
  EXPECT_EQ(error, "step 0, message 5: after 30 ms there is no connection to process 1");
}

TEST(GrpcExchange, EndsAWaitWhenTheRunIsAborted) {
  Pair pair;
  const auto receive = pair.server.receive(5, 1, {100});
  std::thread lane([&] { EXPECT_THROW(receive->run(0), Aborted); });
  receive->abort.raised = true;
  lane.join();
}

TEST(GrpcExchange, EndsAWaitWhenItIsToldThatTheProcessIsLost) {
  Pair pair;
  const auto receive = pair.server.receive(5, 1, {100});
  const auto send = pair.server.send(6, 1, {100});
  std::thread lane([&] {
    const std::string error = error_of([&] { receive->run(0); }, ErrorKind::PeerLost);
    EXPECT_EQ(error, "step 0, message 5: process 1 is lost: no heartbeat for 5 s");
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  pair.server.exchange.lose(1, "no heartbeat for 5 s");
  lane.join();
  EXPECT_NE(error_of([&] { send->run(0); }, ErrorKind::PeerLost), "");
}

TEST(GrpcExchange, DeliversWhatWasSentBeforeItClosed) {
  Pair pair;
  const auto send = pair.client.send(1, 0, {100});
  const auto receive = pair.server.receive(1, 1, {100});
  send->set(test::random_tensors({100}, 1));
  send->run(0);
  pair.client.exchange.close();
  EXPECT_EQ(error_of([&] { receive->run(0); }), "");
  const std::string error = error_of([&] { receive->run(1); }, ErrorKind::PeerLost);
  EXPECT_EQ(error, "step 1, message 1: process 1 is lost: process 1 closed its stream");
}

TEST(GrpcExchange, TellsTheOthersWhenTheServingSideCloses) {
  Pair pair;
  const auto receive = pair.client.receive(1, 0, {100});
  pair.server.exchange.close();
  const std::string error = error_of([&] { receive->run(0); });
  EXPECT_EQ(error, "step 0, message 1: process 0 is lost: process 0 closed its stream");
}

TEST(GrpcExchange, RefusesAPeerThatIsMoreThanOneStepAhead) {
  Pair pair;
  const auto send = pair.client.send(1, 0, {100});
  const auto receive = pair.server.receive(1, 1, {100});
  send->run(0);
  send->run(1);
  send->run(2);
  error_of([&] { pair.client.receive(9, 0, {4})->run(0); });  // until the third message was refused
  const std::string error = error_of(
      [&] {
        for (std::int64_t step = 0; step < 3; ++step) receive->run(step);
      },
      ErrorKind::PeerLost);
  EXPECT_NE(error.find("step is 2, more than one ahead of step 0"), std::string::npos) << error;
}

TEST(GrpcExchange, RefusesAMessageOfAnotherSize) {
  Pair pair;
  const auto send = pair.client.send(1, 0, {100});
  const auto receive = pair.server.receive(1, 1, {104});
  send->run(0);
  const std::string error = error_of([&] { receive->run(0); }, ErrorKind::PeerLost);
  EXPECT_EQ(error,
            "step 0, message 1: process 1 is lost: process 1 sent a frame of message 1 whose "
            "total length is 100, must be 104");
}

TEST(GrpcExchange, SaysThatAPortIsTaken) {
  End first(options_of(0, 2));
  const std::string address = first.exchange.serve();
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  End second(options_of(0, 2));
  const std::string error = error_of([&] { second.exchange.serve(port); }, ErrorKind::Io);
  EXPECT_NE(error.find(address), std::string::npos) << error;
}

TEST(GrpcExchange, SaysWhereNobodyListens) {
  std::string address;
  {
    End server(options_of(0, 2));
    address = server.exchange.serve();
  }
  End client(options_of(1, 2));
  const std::string what =
      error_of([&] { client.exchange.connect(0, address); }, ErrorKind::PeerLost);
  EXPECT_EQ(what.find("cannot connect to process 0 at " + address), 0U) << what;
  EXPECT_NE(what.find("UNAVAILABLE"), std::string::npos) << what;
}

}  // namespace
}  // namespace regatta::comm
