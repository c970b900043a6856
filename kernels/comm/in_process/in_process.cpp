// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/in_process/in_process.h"

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/comm/collective/all_reduce.h"
#include "kernels/comm/collective/collective_times.h"
#include "kernels/comm/collective/host_bucket.h"
#include "kernels/comm/collective/queued_collective.h"
#include "kernels/distribute/partition.h"
#include "kernels/runtime/capture/queued_exchange.h"
#include "kernels/runtime/chosen_kernel.h"
#include "kernels/runtime/device.h"

namespace regatta::comm {
namespace {

/// A collective and its members.
struct Group {
  std::unique_ptr<AllReduceGroup> collective;
  std::unique_ptr<QueuedCollective> queued;  ///< null if lanes have no queues
  std::vector<Account*> accounts;            ///< by member; null before it joins
  std::vector<Bucket> waiting;
  std::vector<std::optional<HostBucket>> buckets;  ///< by member, if the host exchanges them
  std::optional<ArrivalBoard> board;

  /// Called when all members have joined: joins their buckets if the host runs the collective.
  void settle() {
    if (queued != nullptr && (queued->is_built() || queued->is_nothing_to_do())) return;
    for (const Bucket& joined : std::exchange(waiting, {})) {
      const HostBucket& bucket = buckets[static_cast<std::size_t>(joined.member)].emplace(joined);
      collective->join(joined.member, bucket.buffer(), bucket.elements());
    }
  }

  /// Opens the member's counts of bytes taken from members with a known place, and theirs from it.
  void join(std::int64_t member, Account& account) {
    accounts[static_cast<std::size_t>(member)] = &account;
    account.taken.resize(accounts.size());
    for (std::size_t i = 0; i < accounts.size(); ++i) {
      if (accounts[i] == nullptr) continue;
      account.taken[i].from = accounts[i]->place;
      accounts[i]->taken[static_cast<std::size_t>(member)].from = account.place;
    }
  }
};

class CopyKernel final : public Kernel {
 public:
  CopyKernel(const KernelRequest& request, Account& account)
      : from_(request.inputs[0].data),
        to_(request.outputs[0].data),
        bytes_(request.outputs[0].type.bytes()),
        account_(account) {}

  void run(const StepContext&) override {
    std::memcpy(to_, from_, static_cast<std::size_t>(bytes_));
    account_.take(0, bytes_);
  }

 private:
  const void* from_;
  void* to_;
  std::int64_t bytes_;
  Account& account_;
};

/// Copies in the receiver's queue: by a kernel between places of one GPU, else by the queue's copy.
class QueuedCopyKernel final : public Kernel, public QueuedExchange {
 public:
  QueuedCopyKernel(std::unique_ptr<Kernel> copy, std::int64_t bytes, Account& account)
      : copy_(std::move(copy)), bytes_(bytes), account_(account) {}

  void run(const StepContext&) override {
    enqueue();
    count_step();
  }
  QueuedExchange* queued_exchange() override { return this; }
  void enqueue() override { copy_->run({}); }
  void count_step() override { account_.take(0, bytes_); }

 private:
  std::unique_ptr<Kernel> copy_;
  std::int64_t bytes_;
  Account& account_;
};

/// Copies from a GPU's memory to host memory, by a queue of that GPU.
class FetchingCopyKernel final : public Kernel {
 public:
  FetchingCopyKernel(const KernelRequest& request, Account& account)
      : carrier_(*request.carrier),
        from_(request.inputs[0].data),
        to_(request.outputs[0].data),
        bytes_(request.outputs[0].type.bytes()),
        what_("the copy of " + request.node.layer + " from " + to_string(account.taken[0].from) +
              ": "),
        account_(account) {}

  void run(const StepContext& context) override {
    try {
      carrier_.copy(to_, from_, bytes_);
      carrier_.finish();
    } catch (const RunError& error) {
      throw RunError(error.kind(),
                     "step " + std::to_string(context.step) + ": " + what_ + error.what());
    }
    account_.take(0, bytes_);
  }

 private:
  LaneQueue& carrier_;
  const void* from_;
  void* to_;
  std::int64_t bytes_;
  std::string what_;
  Account& account_;
};

std::unique_ptr<Kernel> carried(const KernelRequest& request) {
  LaneQueue& queue = *request.carrier;
  void* const to = request.outputs[0].data;
  const void* const from = request.inputs[0].data;
  const std::int64_t bytes = request.outputs[0].type.bytes();
  return make_kernel([=, &queue](const StepContext&) { queue.copy(to, from, bytes); });
}

/// A collective run by the host, or by one kernel of the GPU that the members share. That kernel
/// adds in the algorithm's order. It sends nothing; the algorithm's messages are counted.
class CollectiveKernel final : public ChosenKernel, public QueuedExchange {
 public:
  /// `bucket` is the whole of `own` (bucket_elements.h).
  CollectiveKernel(const KernelRequest& request, const Bucket& own, const Tensor& bucket,
                   Group& group, Account& account)
      : op_(request.node.op),
        group_(*group.collective),
        bucket_(group.buckets[static_cast<std::size_t>(own.member)]),
        queued_(group.queued.get()),
        account_(account),
        member_(own.member),
        times_(account.times.emplace(), *group.board, member_),
        algorithm_(request.node.attributes.text("algorithm")),
        queue_(request.queue),
        patience_{.abort = request.abort, .spins = request.spins, .yields = request.yields} {
    observer_.received = [&account](std::int64_t from, std::int64_t bytes) {
      account.take(static_cast<std::size_t>(from), bytes);
    };
    if (queued_ == nullptr) return;
    of_one_run_ = member_traffic({.op = op_,
                                  .algorithm = algorithm_,
                                  .members = group_.members(),
                                  .group = request.node.attributes.integer("group"),
                                  .elements = bucket.elements(),
                                  .element_bytes = size_of(bucket.type.element)},
                                 member_);
    queued_->join(request, own, bucket);
    if (queued_->is_launcher(member_)) queued_->shared_launch().launcher = this;
  }

  void run(const StepContext& context) override {
    observer_.peer_waits = &context.counters->peer_waits;
    if (is_done()) return;
    if (queue_ != nullptr) queue_->finish();
    times_.arrive(*context.counters);
    if (is_queued()) {
      queued_->run(member_, patience_, context.counters->peer_waits);
      count_step();
    } else {
      bucket_->open();
      group_.run(member_, patience_, observer_);
      bucket_->close();
    }
    times_.leave(*context.counters);
  }

  QueuedExchange* queued_exchange() override { return is_queued() || is_done() ? this : nullptr; }
  const SharedLaunch* shared_launch() const override {
    return is_queued() ? &queued_->shared_launch() : nullptr;
  }
  void enqueue() override {
    if (is_queued()) queued_->enqueue();
  }
  void count_step() override { account_.traffic += of_one_run_; }

  /// The chosen implementation, known to the member that joined last; the others have the same.
  std::string choice() const override {
    if (queued_ == nullptr || group_.members() == 1 || !queued_->all_joined()) return {};
    if (!is_queued()) return "the host, by " + algorithm_ + ": " + queued_->why_not();
    if (op_ == Op::AllGather) {
      return "own kernel: gathers the shares of " + std::to_string(group_.members()) +
             " replicas on their GPU";
    }
    return "own kernel: adds up " + std::to_string(group_.members()) +
           " replicas on their GPU, in the order of " + algorithm_;
  }

 private:
  bool is_queued() const { return queued_ != nullptr && queued_->is_built(); }
  /// Whether there is no work. A single member still copies its all_gather share into the bucket.
  bool is_done() const { return group_.members() == 1 && op_ != Op::AllGather; }

  Op op_;
  AllReduceGroup& group_;
  std::optional<HostBucket>& bucket_;  ///< in the group; none if a queue runs the collective
  QueuedCollective* queued_;
  Account& account_;
  std::int64_t member_;
  CollectiveTimes times_;
  std::string algorithm_;
  LaneQueue* queue_;
  Patience patience_;
  AllReduceGroup::Observer observer_;
  MemberTraffic of_one_run_;
};

}  // namespace

struct InProcessTransport::State {
  Accounts& accounts;
  std::map<std::int64_t, Group> groups{};

  /// `in_queue` is the device's own kernel, which copies between places on that device.
  std::unique_ptr<Kernel> build_copy(const KernelRequest& request, const KernelFactory& in_queue) {
    Account& account = accounts.open(request.node.place);
    account.taken.push_back({.from = sender_of(request.node)});
    if (request.carrier != nullptr && request.carrier != request.queue) {
      return std::make_unique<FetchingCopyKernel>(request, account);
    }
    if (request.queue == nullptr) return std::make_unique<CopyKernel>(request, account);
    check(in_queue != nullptr, "a device with queues copies in them");
    return std::make_unique<QueuedCopyKernel>(
        request.carrier != nullptr ? carried(request) : in_queue(request),
        request.outputs[0].type.bytes(), account);
  }

  /// `in_queue` is the device's own kernel, for members that share the device.
  std::unique_ptr<Kernel> build_collective(const KernelRequest& request,
                                           const KernelFactory& in_queue) {
    const Attributes& attributes = request.node.attributes;
    const Bucket own = bucket_of(request);
    const std::optional<Tensor> bucket = whole_of(own.tensors);
    if (!bucket) return nullptr;
    const std::int64_t members = attributes.integer("members");
    Group& group = groups[attributes.integer("group")];
    if (group.collective == nullptr) {
      group.collective = std::make_unique<AllReduceGroup>(
          AllReduceGroup::Request{.op = request.node.op,
                                  .algorithm = attributes.text("algorithm"),
                                  .members = members,
                                  .group = attributes.integer("group"),
                                  .element = bucket->type.element});
      if (request.queue != nullptr) {
        group.queued = std::make_unique<QueuedCollective>(in_queue, request.node.op, members,
                                                          attributes.integer("group"));
      }
      group.accounts.resize(static_cast<std::size_t>(members));
      group.buckets.resize(static_cast<std::size_t>(members));
      group.board.emplace(members);
    }
    const std::int64_t member = request.node.member;
    Account& account = accounts.open(request.node.place);
    group.join(member, account);
    group.waiting.push_back(own);
    auto kernel = std::make_unique<CollectiveKernel>(request, own, *bucket, group, account);
    if (std::ssize(group.waiting) == members) group.settle();
    return kernel;
  }
};

InProcessTransport::InProcessTransport()
    : state_(std::make_unique<State>(State{.accounts = accounts()})) {}
InProcessTransport::~InProcessTransport() = default;

void InProcessTransport::add_kernels(KernelTable& table) {
  table.add(Op::Copy, [this, in_queue = table.factory(Op::Copy)](const auto& request) {
    return state_->build_copy(request, in_queue);
  });
  for (const Op op : {Op::AllReduce, Op::ReduceScatter, Op::AllGather}) {
    table.add(op, [this, in_queue = table.factory(op)](const auto& request) {
      return state_->build_collective(request, in_queue);
    });
  }
}

}  // namespace regatta::comm
