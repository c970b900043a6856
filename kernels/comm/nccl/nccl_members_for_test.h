// SPDX-License-Identifier: Apache-2.0
//
// For tests of NCCL's collectives with a test double of its functions. Processes are threads, each
// with its own transport; their members run on further threads.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kernels/comm/collective/all_reduce_members_for_test.h"
#include "kernels/comm/nccl/nccl_double_table_for_test.h"
#include "kernels/comm/nccl/nccl_settings.h"
#include "kernels/comm/nccl/nccl_transport.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/error.h"
#include "kernels/runtime/deferred_for_test.h"
#include "kernels/runtime/device.h"

namespace regatta::testing_support {

inline constexpr std::int64_t kShortNs = 200'000'000;

/// The rendezvous of the threads that stand for processes.
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

class StreamQueue final : public DeferringQueue {
 public:
  explicit StreamQueue(int device) : device_(device) {}
  void surround(std::function<void(const std::function<void()>&)> around) {
    stream_.surround(std::move(around));
  }
  void finish() override { stream_.finish(); }
  void finish_while(const std::function<void()>& look) override {
    while (!stream_.is_idle()) {
      look();
      std::this_thread::yield();
    }
  }
  /// Captures the queue's stream, which NCCL and the kernels share.
  void capture(std::vector<std::shared_ptr<void>>* held) {
    if (held == nullptr) return stream_.capture(std::nullopt);
    stream_.capture(
        {{.take = [this](std::function<void()> work) { put(std::move(work)); }, .held = held}});
  }
  void submit(std::function<void()> work) { stream_.submit(std::move(work)); }
  std::optional<StreamPlace> stream_place() const override {
    return StreamPlace{
        .stream = stream_.handle(), .device = device_, .gpu = "gpu" + std::to_string(device_)};
  }

 private:
  void start(std::function<void()> work) override { stream_.submit(std::move(work)); }

  int device_;
  mutable nccl_double::Stream stream_;
};

/// A recorded step of test double streams. It keeps the communicators of its reductions in use.
class StreamStep final : public RecordedStep {
 public:
  StreamStep(std::shared_ptr<RecordedStep> step, StreamQueue& origin,
             std::vector<std::shared_ptr<void>> held)
      : step_(std::move(step)), origin_(origin), held_(std::move(held)) {}
  void launch() override {
    origin_.submit([step = step_] { step->launch(); });
  }

 private:
  std::shared_ptr<RecordedStep> step_;
  StreamQueue& origin_;
  std::vector<std::shared_ptr<void>> held_;
};

class StreamRecorder final : public StepRecorder {
 public:
  ~StreamRecorder() override { capture(nullptr); }
  void begin(std::span<LaneQueue* const> queues) override {
    for (LaneQueue* queue : queues) queues_.push_back(&dynamic_cast<StreamQueue&>(*queue));
    recorder_->begin(queues);
    capture(&held_);
  }
  Mark mark(std::size_t queue) override { return recorder_->mark(queue); }
  void wait(std::size_t queue, Mark mark) override { recorder_->wait(queue, mark); }
  void look() override {}
  std::unique_ptr<RecordedStep> end() override {
    capture(nullptr);
    return std::make_unique<StreamStep>(recorder_->end(), *queues_.front(), std::move(held_));
  }

 private:
  void capture(std::vector<std::shared_ptr<void>>* held) {
    for (StreamQueue* queue : queues_) queue->capture(held);
  }

  std::unique_ptr<StepRecorder> recorder_ = make_function_recorder();
  std::vector<StreamQueue*> queues_;
  std::vector<std::shared_ptr<void>> held_;
};

/// Double of a GPU with doubles of streams: CPU kernels compute at once, NCCL's work runs later.
/// Memory is unmapped when it is released, so that the double of NCCL detects a later use.
class GpuDouble final : public Device {
 public:
  explicit GpuDouble(int number) : number_(number) {}
  void* allocate(std::int64_t bytes) override {
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    void* const memory =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED, "there is memory for a test");
    sizes_[memory] = size;
    return memory;
  }
  void release(void* memory) noexcept override { munmap(memory, sizes_.at(memory)); }
  bool has_queues() const override { return true; }
  std::unique_ptr<LaneQueue> make_queue() override {
    return std::make_unique<StreamQueue>(number_);
  }
  std::unique_ptr<StepRecorder> make_recorder() override {
    return std::make_unique<StreamRecorder>();
  }

 private:
  int number_;
  std::map<void*, std::size_t> sizes_;
};

enum class Sums { Whole, ByShares };

/// One of the nodes that leave the sum at all members, with its inputs and outputs: an all_reduce
/// of `whole`, or a reduce_scatter of it to the member's share and an all_gather of all shares.
struct SumNode {
  Node node;
  std::vector<Tensor> inputs, outputs;
};
inline std::vector<SumNode> nodes_of_sum(const Node& all_reduce, const Tensor& whole, Sums sums) {
  constexpr std::int64_t kSecondRound = 1000;
  if (sums == Sums::Whole) return {{.node = all_reduce, .inputs = {whole}, .outputs = {whole}}};
  const std::int64_t members = all_reduce.attributes.integer("members");
  const std::int64_t member = all_reduce.member;
  const Range own = share(whole.elements(), members, share_at(member, members));
  std::vector<Tensor> piece;
  if (own.size() > 0) {
    const std::int64_t bytes = size_of(whole.type.element);
    piece.push_back({.type = {whole.type.element, {own.size()}},
                     .data = whole.as<std::byte>() + own.begin * bytes});
  }
  Node scatter = all_reduce;
  scatter.op = Op::ReduceScatter;
  Node gather = all_reduce;
  gather.op = Op::AllGather;
  gather.outputs = {whole.type};
  gather.attributes.set("group", kSecondRound + gather.attributes.integer("group"));
  return {{.node = scatter, .inputs = {whole}, .outputs = piece},
          {.node = gather, .inputs = piece, .outputs = {whole}}};
}

/// A case: the process and the GPU of each member 0, 1, …
struct Case {
  std::vector<std::int64_t> processes;
  std::vector<int> gpus;
  std::vector<std::int64_t> buckets{7};
  std::string algorithm{kNccl};
  ElementType element = ElementType::F32;
  Sums sums = Sums::Whole;
  std::int64_t backwards = -1;  ///< the member that reduces its buckets in reverse order; -1: none
};

/// A number that differs between the buckets of a round, from which contributions are made.
inline std::int64_t round_of(std::int64_t bucket, std::int64_t round) {
  return 100 * bucket + round;
}

/// One member: its queue and its buckets with their kernels.
class Member {
 public:
  Member(const KernelTable& table, const Case& test, std::int64_t number, const AbortFlag* abort)
      : number_(number), queue_(test.gpus[at(number)]) {
    for (std::int64_t bucket = 0; bucket < std::ssize(test.buckets); ++bucket) {
      const std::int64_t elements = test.buckets[at(bucket)];
      Exchanged& buffer = buffers_.emplace_back(test.element, elements);
      const Tensor whole{.type = {test.element, {elements}}, .data = buffer.memory()};
      const Node node = node_of(test.algorithm, test.processes, number, bucket);
      for (SumNode& each : nodes_of_sum(node, whole, test.sums)) nodes_.push_back(std::move(each));
    }
    for (std::size_t turn = 0; turn < nodes_.size(); ++turn) {
      const SumNode& next = nodes_[number == test.backwards ? nodes_.size() - 1 - turn : turn];
      kernels_.push_back(table.build({.node = next.node,
                                      .inputs = next.inputs,
                                      .outputs = next.outputs,
                                      .variables = {},
                                      .versions_seen = {},
                                      .abort = abort,
                                      .queue = &queue_}));
    }
  }
  ~Member() { queue_.finish(); }

  void fill(std::int64_t round) {
    for (std::size_t bucket = 0; bucket < buffers_.size(); ++bucket) {
      std::vector<float>& values = buffers_[bucket].values();
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = contribution(number_, round_of(static_cast<std::int64_t>(bucket), round),
                                 static_cast<std::int64_t>(i));
      }
      buffers_[bucket].open();
    }
  }
  void run() {
    for (auto& kernel : kernels_) kernel->run({.counters = &counters_});
    for (Exchanged& buffer : buffers_) buffer.close();
  }
  const std::vector<float>& buffer(std::int64_t bucket) const {
    return buffers_[at(bucket)].values();
  }
  LaneCounters& counters() { return counters_; }

 private:
  std::int64_t number_;
  StreamQueue queue_;
  std::deque<Exchanged> buffers_;
  std::deque<SumNode> nodes_;
  LaneCounters counters_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

/// The members of a case that belong to one process.
class Process {
 public:
  Process(const Case& test, Meeting& meeting, int number, std::int64_t limit_ns)
      : transport_(std::make_unique<ThreadRendezvous>(meeting, number),
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

  void connect() { transport_.connect(); }
  NcclTransport& transport() { return transport_; }
  std::vector<std::unique_ptr<Member>>& members() { return members_; }
  const std::vector<std::int64_t>& numbers() const { return numbers_; }
  AbortFlag& abort() { return abort_; }

  /// Runs a round with each member on its own thread.
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
inline RunError error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const RunError& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return {ErrorKind::Io, ""};
}

}  // namespace regatta::testing_support
