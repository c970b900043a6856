// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/nccl/nccl_transport.h"

#include <gtest/gtest.h>

#include <chrono>

#include "kernels/comm/nccl/nccl_members_for_test.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::testing_support {
namespace {

const Case kThreeProcesses{
    .processes = {0, 1, 1, 2}, .gpus = {0, 1, 2, 3}, .buckets = {1009, 3, 64}};

/// With four members and three elements, one member has an empty share.
TEST_F(Nccl, LeavesTheSumOverAllMembersAtEach) {
  Case test = kThreeProcesses;
  for (const Sums sums : {Sums::Whole, Sums::ByShares}) {
    test.sums = sums;
    for_each_process(test, [](Process& process) {
      process.connect();
      for (std::int64_t round = 0; round < 3; ++round) {
        process.run(round);
        for (const auto& member : process.members()) {
          for (std::int64_t bucket = 0; bucket < 3; ++bucket) {
            const std::vector<float>& found = member->buffer(bucket);
            for (std::int64_t i = 0; i < std::ssize(found); ++i) {
              double sum = 0;
              for (std::int64_t m = 0; m < 4; ++m) {
                sum += static_cast<double>(contribution(m, round_of(bucket, round), i));
              }
              ASSERT_NEAR(found[at(i)], sum, 1e-6);
            }
          }
        }
      }
    });
  }
}

TEST_F(Nccl, SumsBf16AndCountsTwoBytesForEachElement) {
  for_each_process(
      {.processes = {0, 1}, .gpus = {0, 1}, .buckets = {1000}, .element = ElementType::BF16},
      [](Process& process) {
        process.connect();
        process.run(0);
        const std::vector<float>& found = process.members()[0]->buffer(0);
        for (std::int64_t i = 0; i < std::ssize(found); ++i) {
          const double sum = static_cast<double>(contribution(0, 0, i)) +
                             static_cast<double>(contribution(1, 0, i));
          ASSERT_NEAR(found[at(i)], sum, bound_of_sum(ElementType::BF16, 2));
        }
        EXPECT_EQ(process.transport().traffic().begin()->second.sent, 1000 * 2);
      });
}

TEST_F(Nccl, MakesACommunicatorForEachMemberAndClosesItTogetherWithTheOthers) {
  for_each_process(kThreeProcesses, [](Process& process) {
    process.connect();
    process.run(0);
  });
  EXPECT_EQ(nccl_double::library().inits, 4);
  EXPECT_EQ(nccl_double::library().ids, 1);
  EXPECT_EQ(nccl_double::library().finalizes, 4);
  EXPECT_EQ(nccl_double::library().destroys, 4);
  EXPECT_EQ(nccl_double::library().aborts, 0);
}

TEST_F(Nccl, ReducesEachBucketOnceBeforeTheFirstStepWithoutCountingIt) {
  for_each_process(kThreeProcesses, [](Process& process) {
    process.connect();
    for (const auto& [place, traffic] : process.transport().traffic()) EXPECT_EQ(traffic.sent, 0);
  });
  for (const nccl_double::Communicator& each : nccl_double::library().communicators) {
    EXPECT_EQ(each.operations, 3U);
  }
}

TEST_F(Nccl, CountsTheBytesOfARingAndTheTimeInside) {
  for_each_process({.processes = {0, 1}, .gpus = {0, 1}, .buckets = {1000}}, [](Process& process) {
    process.connect();
    process.run(0);
    process.run(1);
    const auto traffic = process.transport().traffic();
    ASSERT_EQ(traffic.size(), 1U);
    EXPECT_EQ(traffic.begin()->second.sent, 2 * 1000 * 4);
    EXPECT_EQ(traffic.begin()->second.received, 2 * 1000 * 4);
    EXPECT_EQ(process.transport().exchange_times().begin()->second.wait.count(), 2);
    EXPECT_GT(process.members()[0]->counters().peer_waits.until(ticks()), 0U);
  });
}

/// The double records a violation if a communicator is made before the permission.
TEST_F(Nccl, IsAllowedToLetMembersShareAGpuBeforeItsFirstCommunicator) {
  nccl_double::library().version = kSharesGpus;
  for (const std::vector<int>& gpus : {std::vector{0, 1}, std::vector{5, 5}}) {
    for_each_process({.processes = {0, 1}, .gpus = gpus}, [](Process& process) {
      process.connect();
      process.run(0);
      const float sum = contribution(0, round_of(0, 0), 0) + contribution(1, round_of(0, 0), 0);
      EXPECT_FLOAT_EQ(process.members()[0]->buffer(0)[0], sum);
    });
  }
}

TEST_F(Nccl, RefusesTwoMembersOnOneGpuBeforeItIsCalled) {
  for_each_process({.processes = {0, 1}, .gpus = {5, 5}}, [](Process& process) {
    const RunError error = error_of([&] { process.connect(); });
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    const std::string text = error.what();
    EXPECT_NE(text.find("members 0 and 1 are both on GPU "), std::string::npos) << text;
    EXPECT_NE(text.find("/gpu5, and NCCL wants a GPU for each"), std::string::npos) << text;
  });
  EXPECT_EQ(nccl_double::library().inits, 0);
}

TEST_F(Nccl, RefusesMembersThatWouldReduceTheirBucketsInAnotherOrder) {
  const Case test{
      .processes = {0, 1, 2}, .gpus = {0, 1, 2}, .buckets = {1009, 3, 64}, .backwards = 1};
  for_each_process(test, [](Process& process) {
    const RunError error = error_of([&] { process.connect(); });
    EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
    EXPECT_EQ(std::string(error.what())
                  .find("collectives by NCCL between processes 0,1,2: member 0 reduces the buckets "
                        "0:1009,1:3,2:64, member 1 2:64,1:3,0:1009, and NCCL wants one order"),
              0U)
        << error.what();
  });
  EXPECT_EQ(nccl_double::library().inits, 0);
}

TEST_F(Nccl, GivesUpWhereItDoesNotConnectInTime) {
  nccl_double::library().never_connects = true;
  for_each_process(
      {.processes = {0, 1}, .gpus = {0, 1}},
      [](Process& process) {
        const RunError error = error_of([&] { process.connect(); });
        EXPECT_EQ(error.kind(), ErrorKind::Timeout);
        EXPECT_EQ(std::string(error.what())
                      .find("NCCL did not connect member " + std::to_string(process.numbers()[0])),
                  0U)
            << error.what();
      },
      kShortNs);
  EXPECT_EQ(nccl_double::library().aborts, 2);
}

TEST_F(Nccl, EndsConnectingWhenTheRunIsAborted) {
  nccl_double::library().never_connects = true;
  for_each_process({.processes = {0}, .gpus = {0}}, [](Process& process) {
    process.abort().raised = true;
    EXPECT_THROW(process.connect(), Aborted);
  });
  EXPECT_EQ(nccl_double::library().aborts, 1);
}

TEST_F(Nccl, AbortsWhenAPeerIsGone) {
  for_each_process({.processes = {0, 1}, .gpus = {0, 1}}, [](Process& process) {
    process.connect();
    if (process.numbers()[0] == 1) return nccl_double::library().lose(1);
    const RunError error = error_of([&] { process.members()[0]->run(); });
    EXPECT_EQ(error.kind(), ErrorKind::PeerLost);
    EXPECT_EQ(std::string(error.what())
                  .find("all_reduce by NCCL, member 0 of 2 in process 0: "
                        "remote process exited (words of the double)"),
              0U)
        << error.what();
  });
  EXPECT_EQ(nccl_double::library().destroys, 0);
  EXPECT_EQ(nccl_double::library().aborts, 2);
}

TEST_F(Nccl, GivesUpAfterItsDeadlineWhenAMemberDoesNotReduce) {
  for_each_process(
      {.processes = {0, 1}, .gpus = {0, 1}},
      [](Process& process) {
        process.connect();
        if (process.numbers()[0] == 1) return;
        const RunError error = error_of([&] { process.members()[0]->run(); });
        EXPECT_EQ(error.kind(), ErrorKind::Timeout);
        EXPECT_NE(std::string(error.what()).find("member 0 of 2 in process 0: waited in vain"),
                  std::string::npos)
            << error.what();
      },
      kShortNs);
  EXPECT_EQ(nccl_double::library().aborts, 2);
}

TEST_F(Nccl, EndsAReductionWhenTheRunIsAborted) {
  for_each_process({.processes = {0, 0}, .gpus = {0, 1}}, [](Process& process) {
    process.connect();
    std::thread lane([&] { EXPECT_THROW(process.members()[0]->run(), Aborted); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    process.abort().raised = true;
    lane.join();
  });
  EXPECT_EQ(nccl_double::library().aborts, 2);
}

TEST_F(Nccl, LeavesWhatItDoesNotComputeToTheTableAsItWas) {
  Meeting meeting;
  const NcclCalls calls = nccl_double::calls();
  NcclTransport transport(std::make_unique<ThreadRendezvous>(meeting, 0), {.calls = &calls});
  KernelTable table("test");
  int built = 0;
  table.add(Op::AllReduce, [&built](const KernelRequest&) {
    ++built;
    return make_kernel([](const StepContext&) {});
  });
  transport.add_kernels(table);
  Case test{.processes = {0}, .gpus = {0}};
  test.algorithm = kReduceToOne;
  const Member by_the_table(table, test, 0, nullptr);
  EXPECT_EQ(built, 1);
  test.algorithm = kNccl;
  const Member by_nccl(table, test, 0, nullptr);
  EXPECT_EQ(built, 1);
}

}  // namespace
}  // namespace regatta::testing_support
