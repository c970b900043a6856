// SPDX-License-Identifier: Apache-2.0
//
// all_reduce by NCCL with a double below its table of calls: processes are threads here, each with
// a transport of its own; its members run on threads, too.
#include "kernels/comm/nccl_transport.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>

#include "kernels/comm/nccl_double_for_test.h"
#include "kernels/comm/nccl_roll.h"
#include "kernels/comm/nccl_settings.h"
#include "kernels/graph/error.h"
#include "kernels/runtime/clock.h"
#include "kernels/runtime/device.h"

namespace regatta {
namespace {

constexpr std::int64_t kShortNs = 200'000'000;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// Where the threads that stand for processes exchange texts.
struct Meeting {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, std::string> texts;
  int processes = 1;
};

class ThreadRendezvous final : public Rendezvous {
 public:
  ThreadRendezvous(Meeting& meeting, int process) : meeting_(meeting), process_(process) {}
  int process() const override { return process_; }
  int processes() const override { return meeting_.processes; }
  std::vector<std::string> exchange(const std::string& text, const Patience&) override {
    std::unique_lock lock(meeting_.mutex);
    meeting_.texts[process_] = text;
    meeting_.changed.notify_all();
    meeting_.changed.wait(lock, [&] { return std::ssize(meeting_.texts) == meeting_.processes; });
    std::vector<std::string> all;
    for (const auto& [process, each] : meeting_.texts) all.push_back(each);
    return all;
  }

 private:
  Meeting& meeting_;
  int process_;
};

class StreamQueue final : public LaneQueue {
 public:
  explicit StreamQueue(int device) : device_(device) {}
  void begin_step(const StepContext&) override {}
  void finish() override { stream_.finish(); }
  std::optional<StreamPlace> stream_place() const override {
    return StreamPlace{
        .stream = stream_.handle(), .device = device_, .gpu = "gpu" + std::to_string(device_)};
  }

 private:
  int device_;
  mutable nccl_double::Stream stream_;
};

/// Members 0, 1, … live in these processes, on these GPUs.
struct Case {
  std::vector<std::int64_t> processes;
  std::vector<int> gpus;
  std::vector<std::int64_t> buckets{7};
  std::string algorithm{kNccl};
};

float contribution(std::int64_t member, std::int64_t bucket, std::int64_t round, std::int64_t i) {
  return std::sin(static_cast<float>(member * 7919 + bucket * 31 + round * 104729 + i));
}

/// One member: its queue, its buckets with their kernels.
class Member {
 public:
  Member(const KernelTable& table, const Case& test, std::int64_t number, const AbortFlag* abort)
      : number_(number), queue_(test.gpus[at(number)]) {
    for (std::int64_t bucket = 0; bucket < std::ssize(test.buckets); ++bucket) {
      buffers_.emplace_back(at(test.buckets[at(bucket)]));
      tensors_.push_back(
          {.type = {ElementType::F32, {test.buckets[at(bucket)]}}, .data = buffers_.back().data()});
      nodes_.push_back(node_of(test, bucket));
    }
    for (std::size_t bucket = 0; bucket < nodes_.size(); ++bucket) {
      kernels_.push_back(table.build({.node = nodes_[bucket],
                                      .inputs = {&tensors_[bucket], 1},
                                      .outputs = {&tensors_[bucket], 1},
                                      .variables = {},
                                      .versions_seen = {},
                                      .abort = abort,
                                      .queue = &queue_}));
    }
  }
  ~Member() { queue_.finish(); }

  void fill(std::int64_t round) {
    for (std::size_t bucket = 0; bucket < buffers_.size(); ++bucket) {
      for (std::size_t i = 0; i < buffers_[bucket].size(); ++i) {
        buffers_[bucket][i] = contribution(number_, static_cast<std::int64_t>(bucket), round,
                                           static_cast<std::int64_t>(i));
      }
    }
  }
  void run() {
    for (auto& kernel : kernels_) kernel->run({.counters = &counters_});
  }
  const std::vector<float>& buffer(std::int64_t bucket) const { return buffers_[at(bucket)]; }
  LaneCounters& counters() { return counters_; }

 private:
  Node node_of(const Case& test, std::int64_t bucket) const {
    Node node{.op = Op::AllReduce,
              .attributes = {{"group", bucket},
                             {"member", number_},
                             {"members", std::ssize(test.processes)},
                             {"algorithm", test.algorithm},
                             {"processes", test.processes}},
              .inputs = {},
              .variables = {},
              .outputs = {},
              .place = {},
              .phase = Phase::Communication,
              .layer = {}};
    node.place.replica = static_cast<int>(number_);
    return node;
  }

  std::int64_t number_;
  StreamQueue queue_;
  std::deque<std::vector<float>> buffers_;
  std::deque<Tensor> tensors_;
  std::deque<Node> nodes_;
  LaneCounters counters_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

/// One process' part of a case.
class Process {
 public:
  Process(const Case& test, Meeting& meeting, int number, std::int64_t limit_ns)
      : rendezvous_(meeting, number),
        transport_(rendezvous_,
                   {.calls = &calls_, .limit_ns = limit_ns, .close_limit_ns = kShortNs}),
        table_("test") {
    transport_.add_kernels(table_);
    for (std::int64_t m = 0; m < std::ssize(test.processes); ++m) {
      if (test.processes[at(m)] != number) continue;
      members_.push_back(std::make_unique<Member>(table_, test, m, &abort_));
      numbers_.push_back(m);
    }
  }
  ~Process() { members_.clear(); }

  void connect() { transport_.connect(&abort_); }
  NcclTransport& transport() { return transport_; }
  std::vector<std::unique_ptr<Member>>& members() { return members_; }
  const std::vector<std::int64_t>& numbers() const { return numbers_; }
  AbortFlag& abort() { return abort_; }

  /// Every member on a thread of its own.
  void run(std::int64_t round) {
    std::vector<std::thread> threads;
    for (auto& member : members_) {
      threads.emplace_back([&member, round] {
        member->fill(round);
        member->run();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  NcclCalls calls_ = nccl_double::calls();
  AbortFlag abort_;
  ThreadRendezvous rendezvous_;
  NcclTransport transport_;
  KernelTable table_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::int64_t> numbers_;
};

class Nccl : public testing::Test {
 protected:
  void SetUp() override { nccl_double::slot() = std::make_unique<nccl_double::Library>(); }
  void TearDown() override {
    EXPECT_EQ(nccl_double::library().violations, std::vector<std::string>());
  }

  /// Runs body(process) on a thread for each process.
  void for_each_process(const Case& test, const std::function<void(Process&)>& body,
                        std::int64_t limit_ns = 60'000'000'000) {
    Meeting meeting;
    for (std::int64_t process : test.processes) {
      meeting.processes = std::max(meeting.processes, static_cast<int>(process) + 1);
    }
    std::vector<std::thread> threads;
    for (int number = 0; number < meeting.processes; ++number) {
      threads.emplace_back([&, number] {
        Process process(test, meeting, number, limit_ns);
        body(process);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

/// The error that `body` throws.
RunError error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const RunError& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return {ErrorKind::Io, ""};
}

const Case kThreeProcesses{
    .processes = {0, 1, 1, 2}, .gpus = {0, 1, 2, 3}, .buckets = {1009, 3, 64}};

TEST_F(Nccl, LeavesTheSumOverAllMembersAtEach) {
  for_each_process(kThreeProcesses, [](Process& process) {
    process.connect();
    for (std::int64_t round = 0; round < 3; ++round) {
      process.run(round);
      for (const auto& member : process.members()) {
        for (std::int64_t bucket = 0; bucket < 3; ++bucket) {
          const std::vector<float>& found = member->buffer(bucket);
          for (std::int64_t i = 0; i < std::ssize(found); ++i) {
            double sum = 0;
            for (std::int64_t m = 0; m < 4; ++m) {
              sum += static_cast<double>(contribution(m, bucket, round, i));
            }
            ASSERT_NEAR(found[at(i)], sum, 1e-6);
          }
        }
      }
    }
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
  ThreadRendezvous rendezvous(meeting, 0);
  const NcclCalls calls = nccl_double::calls();
  NcclTransport transport(rendezvous, {.calls = &calls});
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

TEST(NcclSettings, PinRingByNcclsVariableAsLongAsItIsNeeded) {
  unsetenv("NCCL_ALGO");
  {
    const PinnedNcclAlgorithm pinned(kRing);
    EXPECT_STREQ(std::getenv("NCCL_ALGO"), "Ring");
    const std::vector<std::string> settings = nccl_settings();
    EXPECT_NE(std::find(settings.begin(), settings.end(), "NCCL_ALGO=Ring"), settings.end());
  }
  EXPECT_EQ(std::getenv("NCCL_ALGO"), nullptr);
  const PinnedNcclAlgorithm chosen_by_nccl(kNccl);
  EXPECT_EQ(std::getenv("NCCL_ALGO"), nullptr);
}

TEST(NcclSettings, RefuseRingWhereTheEnvironmentWantsAnotherAlgorithm) {
  setenv("NCCL_ALGO", "Tree", 1);
  const RunError error = error_of([] { const PinnedNcclAlgorithm pinned(kRing); });
  EXPECT_EQ(error.kind(), ErrorKind::Usage);
  EXPECT_EQ(std::string(error.what()),
            "--all-reduce ring, but NCCL_ALGO is 'Tree' in the environment: unset it, or use "
            "--all-reduce nccl");
  setenv("NCCL_ALGO", "ring", 1);
  const PinnedNcclAlgorithm pinned(kRing);
  unsetenv("NCCL_ALGO");
}

TEST(NcclRoll, SaysWhichMemberIsNowhere) {
  NcclRoll roll;
  roll.add_member("0,1", 0, "host/gpu0");
  roll.add_id("0,1", std::string("\0\x7F\xFF", 3));
  const auto known = NcclRoll::read({roll.text(), ""});
  EXPECT_EQ(known.at("0,1").id, std::string("\0\x7F\xFF", 3));
  const RunError error = error_of([&] { NcclRoll::verify("0,1", known.at("0,1"), 2); });
  EXPECT_EQ(error.kind(), ErrorKind::PeerLost);
  EXPECT_EQ(std::string(error.what()),
            "all_reduce by NCCL between processes 0,1: no process has member 1");
}

/// The library itself, where it is installed: it can be loaded and asked without a GPU.
TEST(NcclLibrary, TellsItsVersionOrWhatIsMissing) {
  const std::optional<std::string> version = version_of_nccl();
  if (version) {
    EXPECT_EQ(version->substr(0, 2), "2.");
    EXPECT_EQ(why_no_nccl(), "");
  } else {
    EXPECT_EQ(why_no_nccl().find("libnccl.so.2"), 0U) << why_no_nccl();
  }
}

}  // namespace
}  // namespace regatta
