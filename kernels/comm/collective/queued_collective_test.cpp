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

/// Double of the device's all_gather: copies all shares to every member.
std::unique_ptr<Kernel> gather_in_queue(const KernelRequest& request) {
  const std::int64_t members = request.node.attributes.integer("members");
  EXPECT_EQ(std::ssize(request.inputs), members);
  auto& queue = dynamic_cast<LateQueue&>(*request.queue);
  const std::vector<Tensor> brought(request.inputs.begin(), request.inputs.end());
  return make_kernel([&queue, members, shares = brought,
                      buckets = request.outputs](const StepContext&) {
    queue.put([members, shares, buckets] {
      for (std::int64_t m = 0; m < members; ++m) {
        const std::int64_t at = share(buckets[0].elements(), members, share_at(m, members)).begin;
        const Tensor& piece = shares[static_cast<std::size_t>(m)];
        for (const Tensor& bucket : buckets) {
          std::copy(piece.f32(), piece.f32() + piece.elements(), bucket.f32() + at);
        }
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
  KernelRequest request(const AbortFlag* abort = nullptr) {
    return {.node = node,
            .inputs = {&tensor, 1},
            .outputs = {&tensor, 1},
            .variables = {},
            .versions_seen = {},
            .abort = abort,
            .queue = &queue};
  }
};

/// All members of a collective, with the kernels of a transport.
struct Collective {
  std::vector<std::unique_ptr<Member>> members;
  InProcessTransport transport;
  std::vector<std::unique_ptr<Kernel>> kernels;

  explicit Collective(std::int64_t count, const KernelFactory& sum = sum_in_queue,
                      const AbortFlag* abort = nullptr) {
    KernelTable table("test");
    if (sum) table.add(Op::AllReduce, sum);
    transport.add_kernels(table);
    for (std::int64_t m = 0; m < count; ++m) {
      members.push_back(std::make_unique<Member>(m, count));
      kernels.push_back(table.build(members.back()->request(abort)));
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

/// Each queue writes its member's share just before the gather; a single member gathers its own.
TEST(QueuedCollective, GathersWhatAllHaveBrought) {
  for (const std::int64_t members : {1, 2, 3, 5}) {
    KernelTable table("test");
    table.add(Op::AllGather, gather_in_queue);
    InProcessTransport transport;
    transport.add_kernels(table);
    std::vector<std::unique_ptr<Member>> all;
    std::vector<std::vector<float>> shares;
    std::vector<std::unique_ptr<Kernel>> kernels;
    for (std::int64_t m = 0; m < members; ++m) {
      Member& member = *all.emplace_back(std::make_unique<Member>(m, members));
      const Range own = share(kElements, members, share_at(m, members));
      std::vector<float>& brought = shares.emplace_back(static_cast<std::size_t>(own.size()));
      member.node.op = Op::AllGather;
      member.node.outputs = {member.tensor.type};
      const Tensor piece{.type = {ElementType::F32, {own.size()}}, .data = brought.data()};
      KernelRequest request = member.request();
      request.inputs = {&piece, 1};
      kernels.push_back(table.build(request));
    }
    std::vector<std::thread> threads;
    for (std::int64_t m = 0; m < members; ++m) {
      threads.emplace_back([&, m] {
        const auto index = static_cast<std::size_t>(m);
        Member& member = *all[index];
        const Range own = share(kElements, members, share_at(m, members));
        for (int round = 0; round < 50; ++round) {
          member.queue.put([&, round] {
            for (std::int64_t i = own.begin; i < own.end; ++i) {
              shares[index][static_cast<std::size_t>(i - own.begin)] =
                  static_cast<float>(100 * round + i);
            }
          });
          kernels[index]->run({.step = round, .counters = &member.counters});
          member.queue.finish();
          for (std::int64_t i = 0; i < kElements; ++i) {
            EXPECT_EQ(member.buffer[static_cast<std::size_t>(i)],
                      static_cast<float>(100 * round + i))
                << "member " << m << " of " << members << ", round " << round;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
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

TEST(QueuedCollective, SaysWhoSumsAndWhyItIsTheHost) {
  const auto choices = [](const Collective& collective) {
    std::vector<std::string> all;
    for (const auto& kernel : collective.kernels) all.push_back(choice_of(*kernel));
    return all;
  };
  const std::string own = "own kernel: adds up 2 replicas on their GPU, in the order of ring";
  EXPECT_EQ(choices(Collective(2)), (std::vector{own, own}));
  const std::string none = "the host, by ring: the device has no kernel for it";
  EXPECT_EQ(choices(Collective(2, {})), (std::vector{none, none}));
  EXPECT_EQ(choices(Collective(1)), std::vector{std::string()});
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

TEST(QueuedCollective, EndsWhenTheRunIsAborted) {
  AbortFlag abort;
  Collective collective(2, sum_in_queue, &abort);
  std::thread member([&] {
    EXPECT_THROW(collective.kernels[1]->run({.counters = &collective.members[1]->counters}),
                 Aborted);
  });
  abort.raised = true;
  member.join();
}

}  // namespace
}  // namespace regatta::comm
