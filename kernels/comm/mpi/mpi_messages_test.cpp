// SPDX-License-Identifier: Apache-2.0
//
// Messages between the ranks of a real mpirun: values, sums, order, and the end of every wait. They
// go between rank 0 and the last rank, in either direction. Part of mpi_transport_test; main()
// there makes the session.
#include "kernels/comm/mpi/mpi_messages.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "kernels/base/error_for_test.h"
#include "kernels/comm/mpi/mpi_members_for_test.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {
namespace {

using regatta::testing_support::error_of;
using testing_support::session;

constexpr std::int64_t kLarge = 1 << 20;  // elements: more than MPI sends eagerly
constexpr std::int64_t kLimitNs = 50'000'000;

/// The kernel of one send, sent or receive, with its tensor.
class Box {
 public:
  Box(KernelTable& table, Op op, std::int64_t message, int peer, std::int64_t elements,
      bool adds = false)
      : values_(static_cast<std::size_t>(elements)) {
    node_.op = op;
    node_.layer = "conv";
    node_.attributes = {{"message", message}, {"peer", std::int64_t{peer}}};
    if (op == Op::Sent) {
      node_.attributes = {{"messages", std::vector<std::int64_t>{message}},
                          {"peers", std::vector<std::int64_t>{peer}}};
    }
    if (op == Op::Send) node_.attributes.set("to", std::vector<std::int64_t>{1, 0, 0, 0});
    if (op == Op::Receive) node_.attributes.set("from", std::vector<std::int64_t>{0, 0, 0, 0});
    tensor_ = {.type = {ElementType::F32, {elements}}, .data = values_.data()};
    KernelRequest request{.node = node_, .abort = &abort};
    if (op != Op::Receive || adds) request.inputs = {&tensor_, 1};
    if (op == Op::Receive) request.outputs = {&tensor_, 1};
    kernel_ = table.build(request);
  }

  void run() { kernel_->run({.step = step_++, .counters = &counters_}); }
  void fill(float first) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i] = first + static_cast<float>(i % 1000);
    }
  }
  const std::vector<float>& values() const { return values_; }
  std::uint64_t waited() const { return counters_.peer_waits.until(ticks()); }

  AbortFlag abort;

 private:
  Node node_;
  std::vector<float> values_;
  Tensor tensor_;
  LaneCounters counters_;
  std::int64_t step_ = 0;
  std::unique_ptr<Kernel> kernel_;
};

std::vector<float> filled(std::int64_t elements, float first) {
  std::vector<float> values(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i % 1000);
  return values;
}

class MpiMessagesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (session->size() == 1) GTEST_SKIP() << "one rank has no other to send to";
  }
  void TearDown() override { session->barrier(); }

  int last() const { return session->size() - 1; }
  bool sends() const { return session->rank() == 0; }
  bool receives() const { return session->rank() == last(); }

  MpiTransport& open(const MpiTransportOptions& options = {}) {
    transport_ = std::make_unique<MpiTransport>(*session, options);
    transport_->add_kernels(table_);
    return *transport_;
  }

  std::unique_ptr<MpiTransport> transport_;
  KernelTable table_{"test"};
};

TEST_F(MpiMessagesTest, ArriveInTheOrderInWhichTheyAreWanted) {
  for (const std::int64_t chunk_bytes : {std::int64_t{1} << 30, std::int64_t{60'000}}) {
    open({.message_chunk_bytes = chunk_bytes});
    constexpr std::int64_t kSizes[] = {1, 5'000, kLarge};
    for (std::int64_t elements : kSizes) {
      std::vector<std::unique_ptr<Box>> boxes, sents;
      for (std::int64_t m = 0; m < 3; ++m) {
        const std::int64_t message = elements * 10 + m;
        if (sends()) {
          boxes.push_back(std::make_unique<Box>(table_, Op::Send, message, last(), elements));
          sents.push_back(std::make_unique<Box>(table_, Op::Sent, message, last(), elements));
        } else if (receives()) {
          boxes.push_back(std::make_unique<Box>(table_, Op::Receive, message, 0, elements));
        }
      }
      for (int round = 0; round < 4; ++round) {
        for (std::size_t m = 0; sends() && m < 3; ++m) {
          boxes[m]->fill(static_cast<float>(round * 10) + static_cast<float>(m));
          boxes[m]->run();
        }
        for (auto& sent : sents) sent->run();
        for (std::size_t m = 3; receives() && m-- > 0;) {
          boxes[m]->run();
          EXPECT_EQ(boxes[m]->values(),
                    filled(elements, static_cast<float>(round * 10) + static_cast<float>(m)));
        }
      }
    }
  }
}

TEST_F(MpiMessagesTest, AreAddedOntoSumsAndCounted) {
  MpiTransport& transport = open({.message_chunk_bytes = 60'000});
  constexpr std::int64_t kElements = 100'000;
  if (sends()) {
    Box send(table_, Op::Send, 7, last(), kElements), sent(table_, Op::Sent, 7, last(), 1);
    send.fill(1);
    for (int round = 0; round < 3; ++round) {
      send.run();
      sent.run();
    }
    EXPECT_EQ(transport.traffic().at({}).sent, 3 * kElements * 4);
  } else if (receives()) {
    Box receive(table_, Op::Receive, 7, 0, kElements, /*adds=*/true);
    receive.fill(0.5F);
    std::vector<float> expected = filled(kElements, 0.5F);
    const std::vector<float> term = filled(kElements, 1);
    for (int round = 0; round < 3; ++round) {
      receive.run();
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += term[i];
    }
    EXPECT_EQ(receive.values(), expected);
    EXPECT_EQ(transport.traffic().at({}).received, 3 * kElements * 4);
    EXPECT_EQ(transport.traffic().at({}).messages, 3);
  }
}

/// A sender does not wait in its step; the receiver measures how late it is.
TEST_F(MpiMessagesTest, HoldNoSenderUpAndTellHowLongTheyWereWaitedFor) {
  constexpr std::int64_t kLateNs = 400'000'000;
  const auto late = std::chrono::nanoseconds(kLateNs);
  open();
  if (sends()) {
    Box send(table_, Op::Send, 1, last(), kLarge), sent(table_, Op::Sent, 1, last(), 1);
    session->barrier();
    const std::int64_t begin = now_ns();
    send.run();
    EXPECT_LT(now_ns() - begin, kLateNs / 2) << "the receiver comes late";
    sent.run();
    EXPECT_GT(now_ns() - begin, kLateNs / 2);
    session->barrier();
    std::this_thread::sleep_for(late);
    send.run();
    sent.run();
  } else if (receives()) {
    Box receive(table_, Op::Receive, 1, 0, kLarge);
    session->barrier();
    std::this_thread::sleep_for(late);
    receive.run();
    EXPECT_LT(ticks_to_ns(receive.waited()), kLateNs / 2);
    session->barrier();
    receive.run();
    EXPECT_GT(ticks_to_ns(receive.waited()), kLateNs / 2);
  } else {
    session->barrier();
    session->barrier();
  }
}

std::string error_of(Box& box) {
  return error_of([&] { box.run(); }, ErrorKind::Timeout);
}

TEST_F(MpiMessagesTest, NameStepPeerAndMessageThatDoNotCome) {
  open({.limit_ns = kLimitNs});
  if (receives()) {
    Box receive(table_, Op::Receive, 7, 0, 10);
    EXPECT_EQ(error_of(receive),
              "step 0, message 7 (conv): after 50 ms nothing has come from process 0");
  } else if (sends()) {
    Box send(table_, Op::Send, 8, last(), kLarge), sent(table_, Op::Sent, 8, last(), 1);
    send.run();
    EXPECT_EQ(error_of(sent), "step 0, message 8 (conv): after 50 ms it was not taken by process " +
                                  std::to_string(last()));
  }
}

TEST_F(MpiMessagesTest, EndAWaitWhenTheRunIsAborted) {
  open();
  if (!receives()) return;
  Box receive(table_, Op::Receive, 7, 0, 10);
  std::thread lane([&] { EXPECT_THROW(receive.run(), Aborted); });
  receive.abort.raised = true;
  lane.join();
}

TEST_F(MpiMessagesTest, AreRefusedForAProcessThatMpiDidNotStart) {
  open();
  const std::string error =
      error_of([&] { Box(table_, Op::Receive, 7, session->size(), 10); }, ErrorKind::Usage);
  const std::string ranks = std::to_string(session->size());
  EXPECT_EQ(error, "message 7 is for process " + ranks + ", but MPI started " + ranks);
}

}  // namespace
}  // namespace regatta::comm
