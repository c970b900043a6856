// SPDX-License-Identifier: Apache-2.0
//
// Collectives between queues, with a thread for each member. A queue executes nothing before it is
// finished, so reading too early finds old values. The device's kernel is a double.
#include "kernels/comm/collective/queued_collective.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <thread>

#include "kernels/base/error_for_test.h"
#include "kernels/comm/in_process/in_process.h"
#include "kernels/distribute/traffic.h"
#include "kernels/runtime/chosen_kernel.h"
#include "kernels/runtime/device.h"

namespace regatta::comm {
namespace {

class LateQueue final : public LaneQueue {
 public:
  void set_step(const StepContext&) override {}
  void copy(void* to, const void* from, std::int64_t bytes) override {
    put([=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
  }
  void put(std::function<void()> work) { work_.push_back(std::move(work)); }
  void finish() override {
    for (const auto& work : std::exchange(work_, {})) work();
  }

 private:
  std::vector<std::function<void()>> work_;
};

/// Double of the device's all_reduce: adds in the order of the members.
std::unique_ptr<Kernel> sum_in_queue(const KernelRequest& request) {
  EXPECT_EQ(std::ssize(request.inputs), request.node.attributes.integer("members"));
  auto& queue = dynamic_cast<LateQueue&>(*request.queue);
  return make_kernel([&queue, buckets = request.inputs](const StepContext&) {
    queue.put([buckets] {
      for (std::int64_t i = 0; i < buckets[0].elements(); ++i) {
        float sum = 0;
        for (const Tensor& bucket : buckets) sum += bucket.f32()[i];
        for (const Tensor& bucket : buckets) bucket.f32()[i] = sum;
      }
    });
  });
}

constexpr std::int64_t kElements = 7;

struct Member {
  Node node;
  std::vector<float> buffer = std::vector<float>(kElements);
  Tensor tensor{.type = {ElementType::F32, {kElements}}, .data = buffer.data()};
  LateQueue queue;
  LaneCounters counters;

  Member(std::int64_t member, std::int64_t members) {
    node.op = Op::AllReduce;
    node.member = member;
    node.place.replica = static_cast<int>(member);
    node.attributes = {
        {"group", std::int64_t{4}}, {"members", members}, {"algorithm", std::string("ring")}};
  }
  KernelRequest request() {
    return {.node = node,
            .inputs = {&tensor, 1},
            .outputs = {&tensor, 1},
            .variables = {},
            .versions_seen = {},
            .abort = nullptr,
            .queue = &queue};
  }
};

/// All members of a collective, with the kernels of a transport.
struct Collective {
  std::vector<std::unique_ptr<Member>> members;
  InProcessTransport transport;
  std::vector<std::unique_ptr<Kernel>> kernels;

  explicit Collective(std::int64_t count, const KernelFactory& sum = sum_in_queue) {
    KernelTable table("test");
    if (sum) table.add(Op::AllReduce, sum);
    transport.add_kernels(table);
    for (std::int64_t m = 0; m < count; ++m) {
      members.push_back(std::make_unique<Member>(m, count));
      kernels.push_back(table.build(members.back()->request()));
    }
  }

  /// Runs `rounds` rounds, each member on its own thread; its queue fills its bucket before each.
  void run(int rounds) {
    std::vector<std::thread> threads;
    for (std::size_t m = 0; m < members.size(); ++m) {
      threads.emplace_back([&, m] {
        Member& member = *members[m];
        for (int round = 0; round < rounds; ++round) {
          member.queue.put([&member, m, round] {
            std::fill(member.buffer.begin(), member.buffer.end(), contribution(m, round));
          });
          kernels[m]->run({.step = round, .counters = &member.counters});
          member.queue.finish();  // as the lane does
          const std::vector<float> expected(kElements, sum_of(round));
          EXPECT_EQ(member.buffer, expected) << "member " << m << ", round " << round;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  static float contribution(std::size_t member, int round) {
    return static_cast<float>(1 << member) * static_cast<float>(1 + round);
  }
  float sum_of(int round) const {
    float sum = 0;
    for (std::size_t m = 0; m < members.size(); ++m) sum += contribution(m, round);
    return sum;
  }
};

TEST(QueuedCollective, IsThereForAllMembersWhenTheyGoOn) {
  for (const std::int64_t members : {2, 3, 5}) Collective(members).run(200);
}

TEST(QueuedCollective, CountsTheMessagesOfTheAlgorithm) {
  Collective sum(3), by_host(3, {});
  sum.run(2);
  by_host.run(2);
  const TrafficByPlace counted = sum.transport.traffic();
  const TrafficByPlace messages = by_host.transport.traffic();
  ASSERT_EQ(counted.size(), 3U);
  for (const auto& [place, traffic] : messages) {
    EXPECT_EQ(counted.at(place).sent, traffic.sent);
    EXPECT_EQ(counted.at(place).received, traffic.received);
    EXPECT_EQ(counted.at(place).messages, traffic.messages);
    EXPECT_EQ(sum.transport.exchange_times().at(place).late.count(), 2);
  }
}

TEST(QueuedCollective, IsOneMeetingForAllMembers) {
  const Collective collective(3);
  const SharedLaunch* const shared_launch =
      collective.kernels[0]->queued_exchange()->shared_launch();
  ASSERT_NE(shared_launch, nullptr);
  EXPECT_EQ(shared_launch->members, 3U);
  EXPECT_EQ(shared_launch->launcher, collective.kernels[2]->queued_exchange());
  for (const auto& kernel : collective.kernels) {
    EXPECT_EQ(kernel->queued_exchange()->shared_launch(), shared_launch);
  }
}

TEST(QueuedCollective, OfOneMemberIsNothingToDo) {
  Collective alone(1);
  alone.kernels[0]->run({.counters = &alone.members[0]->counters});
  EXPECT_EQ(alone.members[0]->buffer, std::vector<float>(kElements));
  QueuedExchange* const exchange = alone.kernels[0]->queued_exchange();
  ASSERT_NE(exchange, nullptr);
  EXPECT_EQ(exchange->shared_launch(), nullptr);
  exchange->enqueue();
  EXPECT_EQ(alone.transport.traffic().at({.replica = 0}).received, 0);
}

TEST(QueuedCollective, NamesTheMemberThatDoesNotCome) {
  Member here(0, 3), late(1, 3), lost(2, 3);
  QueuedCollective sum(sum_in_queue, Op::AllReduce, 3, 4);
  for (Member* member : {&here, &late, &lost}) {
    sum.join(member->request(), bucket_of(member->request()), member->tensor);
  }
  const Patience patience{.limit_ns = 300'000'000};
  const auto error_of = [&](std::int64_t member, WaitClock& waits) {
    return regatta::testing_support::error_of([&] { sum.run(member, patience, waits); },
                                              ErrorKind::Timeout);
  };
  std::thread other([&] {
    EXPECT_EQ(error_of(1, late.counters.peer_waits),
              "all_reduce 4: member 1 waited in vain for member 2");
  });
  EXPECT_EQ(error_of(0, here.counters.peer_waits),
            "all_reduce 4: member 0 waited in vain for member 2");
  other.join();
}

}  // namespace
}  // namespace regatta::comm
