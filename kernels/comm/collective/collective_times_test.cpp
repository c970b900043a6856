// SPDX-License-Identifier: Apache-2.0
//
// Lateness and waits of a collective's members, some of which sleep before it.
#include "kernels/comm/collective/collective_times.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

#include "kernels/comm/in_process/in_process.h"

namespace regatta::comm {
namespace {

TEST(ArrivalBoard, KnowsHowFarEachMemberCameAfterTheFirst) {
  ArrivalBoard board(3);
  board.arrive(0, 0, 700);
  board.arrive(1, 0, 400);
  board.arrive(2, 0, 900);
  board.arrive(1, 1, 5000);  // member 1 has already left round 0
  EXPECT_EQ(board.lateness(0, 0), 300U);
  EXPECT_EQ(board.lateness(1, 0), 0U);
  EXPECT_EQ(board.lateness(2, 0), 500U);
}

/// One member with its memory and kernel.
struct Member {
  Node node;
  std::array<float, 4> buffer{1, 2, 3, 4};
  Tensor tensor{.type = {ElementType::F32, {4}}, .data = buffer.data()};
  LaneCounters counters;
  std::unique_ptr<Kernel> kernel;

  Member(const KernelTable& table, int member, std::int64_t members) {
    node.op = Op::AllReduce;
    node.member = member;
    node.place.replica = member;
    node.attributes = {
        {"group", std::int64_t{0}}, {"members", members}, {"algorithm", std::string("ring")}};
    kernel = table.build({.node = node,
                          .inputs = {&tensor, 1},
                          .outputs = {&tensor, 1},
                          .variables = {},
                          .versions_seen = {}});
  }
};

TEST(InProcessTransport, TellsWhoCameLateAndWhoWaited) {
  constexpr int kRounds = 5;
  constexpr auto kSleep = std::chrono::milliseconds(60);  // long enough for a busy machine
  constexpr std::int64_t kLateNs = 20'000'000;
  InProcessTransport transport;
  KernelTable table("test");
  transport.add_kernels(table);
  std::vector<std::unique_ptr<Member>> members;
  for (int m = 0; m < 3; ++m) members.push_back(std::make_unique<Member>(table, m, 3));
  std::vector<std::thread> threads;
  for (auto& member : members) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        if (member->node.place.replica == 1) std::this_thread::sleep_for(kSleep);
        member->kernel->run({.step = round, .examples = 0, .counters = &member->counters});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto times = transport.exchange_times();
  ASSERT_EQ(times.size(), 3U);
  for (int m = 0; m < 3; ++m) {
    const ExchangeTimes& member = times.at({.replica = m});
    EXPECT_EQ(member.late.count(), kRounds);
    EXPECT_EQ(member.wait.count(), kRounds);
    EXPECT_FALSE(member.pushes.has_value());
  }
  const ExchangeTimes& sleeper = times.at({.replica = 1});
  EXPECT_GT(sleeper.late.quantile(0.5), kLateNs);
  EXPECT_LT(sleeper.wait.quantile(0.5), kLateNs);
  EXPECT_LT(times.at({.replica = 0}).late.quantile(0.5), kLateNs);
  EXPECT_GT(times.at({.replica = 0}).wait.quantile(0.5), kLateNs);
}

TEST(InProcessTransport, SaysNothingOfACollectiveOfOne) {
  InProcessTransport transport;
  KernelTable table("test");
  transport.add_kernels(table);
  Member member(table, 0, 1);
  member.kernel->run({.step = 0, .examples = 0, .counters = &member.counters});
  EXPECT_EQ(transport.exchange_times().at({.replica = 0}).late.count(), 0);
}

}  // namespace
}  // namespace regatta::comm
