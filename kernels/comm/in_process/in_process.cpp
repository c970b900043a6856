// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/in_process/in_process.h"

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/comm/collective/all_reduce.h"
#include "kernels/comm/collective/collective_times.h"
#include "kernels/comm/collective/queued_sum.h"
#include "kernels/graph/error.h"
#include "kernels/graph/partition.h"
#include "kernels/runtime/capture/queued_exchange.h"
#include "kernels/runtime/chosen_kernel.h"
#include "kernels/runtime/device.h"

namespace regatta {
namespace {

/// What one node has received, by sender. Written by the node's lane alone.
struct Received {
  Place from;
  std::int64_t bytes = 0;
  std::int64_t messages = 0;
};

/// A collective and who takes part.
struct Group {
  std::unique_ptr<AllReduceGroup> collective;
  std::unique_ptr<QueuedSum> sum;  ///< null where lanes have no queues
  std::vector<Place> places;
  std::optional<ArrivalBoard> board;
};

/// What one node counts.
struct Account {
  Place place;
  std::vector<Received> from;              ///< one entry a possible sender
  std::optional<CollectiveTimes> times{};  ///< of a collective
  MemberTraffic summed{};                  ///< what a kernel in a queue stood for
};

class CopyKernel final : public Kernel {
 public:
  CopyKernel(const KernelRequest& request, Received& received)
      : from_(request.inputs[0].data),
        to_(request.outputs[0].data),
        bytes_(request.outputs[0].type.bytes()),
        received_(received) {}

  void run(const StepContext&) override {
    std::memcpy(to_, from_, static_cast<std::size_t>(bytes_));
    received_.bytes += bytes_;
    ++received_.messages;
  }

 private:
  const void* from_;
  void* to_;
  std::int64_t bytes_;
  Received& received_;
};

/// By work in the receiver's queue: a kernel between places of one GPU, else what carries it.
class QueuedCopyKernel final : public Kernel, public QueuedExchange {
 public:
  QueuedCopyKernel(std::unique_ptr<Kernel> copy, std::int64_t bytes, Received& received)
      : copy_(std::move(copy)), bytes_(bytes), received_(received) {}

  void run(const StepContext&) override {
    enqueue();
    count_step();
  }
  QueuedExchange* queued_exchange() override { return this; }
  void enqueue() override { copy_->run({}); }
  void count_step() override {
    received_.bytes += bytes_;
    ++received_.messages;
  }

 private:
  std::unique_ptr<Kernel> copy_;
  std::int64_t bytes_;
  Received& received_;
};

/// From a GPU's memory to the host's, by a queue of that GPU; on to another GPU's, which cannot
/// read it there, by the receiver's queue.
class FetchingCopyKernel final : public Kernel {
 public:
  FetchingCopyKernel(const KernelRequest& request, Received& received)
      : carrier_(*request.carrier),
        from_(request.inputs[0].data),
        to_(request.outputs[0].data),
        bytes_(request.outputs[0].type.bytes()),
        onward_(request.queue),
        what_("the copy of " + request.node.layer + " from " + to_string(received.from) + ": "),
        received_(received) {
    if (onward_ != nullptr) staging_.emplace(carrier_.make_host_buffer(bytes_));
  }

  void run(const StepContext& context) override {
    void* const at_the_host = onward_ == nullptr ? to_ : staging_->get();
    try {
      carrier_.copy(at_the_host, from_, bytes_);
      carrier_.finish();
      if (onward_ != nullptr) onward_->copy(to_, at_the_host, bytes_);
    } catch (const RunError& error) {
      throw RunError(error.kind(),
                     "step " + std::to_string(context.step) + ": " + what_ + error.what());
    }
    received_.bytes += bytes_;
    ++received_.messages;
  }

 private:
  LaneQueue& carrier_;
  const void* from_;
  void* to_;
  std::int64_t bytes_;
  LaneQueue* onward_;  ///< of the lane; null: it is the host's
  std::optional<HostBuffer> staging_;
  std::string what_;
  Received& received_;
};

std::unique_ptr<Kernel> carried(const KernelRequest& request) {
  LaneQueue& queue = *request.carrier;
  void* const to = request.outputs[0].data;
  const void* const from = request.inputs[0].data;
  const std::int64_t bytes = request.outputs[0].type.bytes();
  return make_kernel([=, &queue](const StepContext&) { queue.copy(to, from, bytes); });
}

/// By the host, or where members share a GPU by a kernel of it. Then nothing travels: counted are
/// the messages of the algorithm whose order of additions the kernel follows.
class AllReduceKernel final : public ChosenKernel, public QueuedExchange {
 public:
  /// `bucket` is [elements] f32.
  AllReduceKernel(const KernelRequest& request, const Tensor& bucket, Group& group,
                  Account& account)
      : group_(*group.collective),
        sum_(group.sum.get()),
        account_(account),
        member_(request.node.attributes.integer("member")),
        algorithm_(request.node.attributes.text("algorithm")),
        queue_(request.queue),
        patience_{.abort = request.abort, .spins = request.spins, .yields = request.yields} {
    observer_.received = [&account](std::int64_t from, std::int64_t bytes) {
      Received& received = account.from[static_cast<std::size_t>(from)];
      received.bytes += bytes;
      ++received.messages;
    };
    if (sum_ == nullptr) return;
    of_one_run_ = member_traffic({.algorithm = algorithm_,
                                  .members = group_.members(),
                                  .group = request.node.attributes.integer("group"),
                                  .elements = bucket.elements()},
                                 member_);
    sum_->join(request, bucket);
    if (sum_->is_in_charge(member_)) sum_->meeting().in_charge = this;
  }

  void run(const StepContext& context) override {
    observer_.peer_waits = &context.counters->peer_waits;
    if (group_.members() == 1) return;
    if (queue_ != nullptr) queue_->finish();
    account_.times->arrive(*context.counters);
    if (is_queued()) {
      sum_->run(member_, patience_, context.counters->peer_waits);
      count_step();
    } else {
      group_.run(member_, patience_, observer_);
    }
    account_.times->leave(*context.counters);
  }

  QueuedExchange* queued_exchange() override {
    return is_queued() || group_.members() == 1 ? this : nullptr;
  }
  const Meeting* meeting() const override { return is_queued() ? &sum_->meeting() : nullptr; }
  void enqueue() override {
    if (is_queued()) sum_->enqueue();
  }
  void count_step() override { account_.summed += of_one_run_; }

  /// Known to the member that joined last; the others' is the same.
  std::string choice() const override {
    if (sum_ == nullptr || group_.members() == 1 || !sum_->all_joined()) return {};
    if (!is_queued()) return "the host, by " + algorithm_ + ": " + sum_->why_not();
    return "own kernel: adds up " + std::to_string(group_.members()) +
           " replicas on their GPU, in the order of " + algorithm_;
  }

 private:
  bool is_queued() const { return sum_ != nullptr && sum_->is_built(); }

  AllReduceGroup& group_;
  QueuedSum* sum_;
  Account& account_;
  std::int64_t member_;
  std::string algorithm_;
  LaneQueue* queue_;
  Patience patience_;
  AllReduceGroup::Observer observer_;
  MemberTraffic of_one_run_;
};

}  // namespace

struct InProcessTransport::State {
  std::vector<std::unique_ptr<Account>> accounts;
  std::map<std::int64_t, Group> groups;

  Account& add_account(const Place& place, std::size_t senders) {
    accounts.push_back(std::make_unique<Account>());
    accounts.back()->place = place;
    accounts.back()->from.resize(senders);
    return *accounts.back();
  }

  /// `in_queue`: the device's own, which copies between places that are both on it.
  std::unique_ptr<Kernel> build_copy(const KernelRequest& request, const KernelFactory& in_queue) {
    Received& received = add_account(request.node.place, 1).from[0];
    received.from = sender_of(request.node);
    if (request.carrier != nullptr && request.carrier != request.queue) {
      return std::make_unique<FetchingCopyKernel>(request, received);
    }
    if (request.queue == nullptr) return std::make_unique<CopyKernel>(request, received);
    check(in_queue != nullptr, "a device with queues copies in them");
    return std::make_unique<QueuedCopyKernel>(
        request.carrier != nullptr ? carried(request) : in_queue(request),
        request.outputs[0].type.bytes(), received);
  }

  /// `in_queue`: the device's own, which sums members that share it.
  std::unique_ptr<Kernel> build_all_reduce(const KernelRequest& request,
                                           const KernelFactory& in_queue) {
    const Attributes& attributes = request.node.attributes;
    const std::int64_t members = attributes.integer("members");
    Group& group = groups[attributes.integer("group")];
    if (group.collective == nullptr) {
      group.collective = std::make_unique<AllReduceGroup>(attributes.text("algorithm"), members,
                                                          attributes.integer("group"));
      if (request.queue != nullptr) {
        group.sum = std::make_unique<QueuedSum>(in_queue, members, attributes.integer("group"));
      }
      group.places.resize(static_cast<std::size_t>(members));
      group.board.emplace(members);
    }
    std::int64_t elements = 0;
    for (const Tensor& input : request.inputs) {
      if (input.type.element != ElementType::F32) return nullptr;
      check(input.f32() == request.inputs[0].f32() + elements, "a bucket is contiguous");
      elements += input.elements();
    }
    const std::int64_t member = attributes.integer("member");
    group.collective->join(member, request.inputs[0].f32(), elements);
    group.places[static_cast<std::size_t>(member)] = request.node.place;
    Account& account = add_account(request.node.place, static_cast<std::size_t>(members));
    account.times.emplace(*group.board, member);
    collective_of[&account] = attributes.integer("group");
    const Tensor bucket{.type = {ElementType::F32, {elements}}, .data = request.inputs[0].data};
    return std::make_unique<AllReduceKernel>(request, bucket, group, account);
  }

  std::map<const Account*, std::int64_t> collective_of;
};

InProcessTransport::InProcessTransport() : state_(std::make_unique<State>()) {}
InProcessTransport::~InProcessTransport() = default;

void InProcessTransport::add_kernels(KernelTable& table) {
  table.add(Op::Copy, [this, in_queue = table.factory(Op::Copy)](const auto& request) {
    return state_->build_copy(request, in_queue);
  });
  table.add(Op::AllReduce, [this, in_queue = table.factory(Op::AllReduce)](const auto& request) {
    return state_->build_all_reduce(request, in_queue);
  });
}

TrafficByPlace InProcessTransport::traffic() const {
  TrafficByPlace all;
  for (const auto& account : state_->accounts) {
    const auto collective = state_->collective_of.find(account.get());
    for (std::size_t i = 0; i < account->from.size(); ++i) {
      const Received& received = account->from[i];
      const Place& from = collective == state_->collective_of.end()
                              ? received.from
                              : state_->groups.at(collective->second).places[i];
      all[from].sent += received.bytes;
      all[account->place] += {.sent = 0, .received = received.bytes, .messages = received.messages};
    }
    all[account->place] += account->summed;
  }
  return all;
}

ExchangeTimesByPlace InProcessTransport::exchange_times() const {
  ExchangeTimesByPlace all;
  for (const auto& account : state_->accounts) {
    if (account->times) add(all[account->place], account->times->times());
  }
  return all;
}

}  // namespace regatta
