// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi/mpi_transport.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/comm/collective/collective_times.h"
#include "kernels/comm/collective/host_bucket.h"
#include "kernels/comm/mpi/mpi_arrivals.h"
#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/comm/mpi/mpi_group.h"
#include "kernels/comm/mpi/mpi_library_reduce.h"
#include "kernels/comm/mpi/mpi_messages.h"
#include "kernels/comm/mpi/mpi_runner.h"
#include "kernels/distribute/partition.h"

namespace regatta::comm {
namespace {

/// Runs the member's schedules in order; at roots, the library's reduction after the first.
class MpiCollectiveKernel final : public Kernel {
 public:
  MpiCollectiveKernel(const Bucket& bucket, const Patience& patience, Account& account,
                      ArrivalLog& arrivals, const ProcessClock& clock)
      : bucket_(bucket),
        patience_(patience),
        times_(*account.times),
        arrivals_(arrivals),
        clock_(clock) {
    observer_.traffic = &account.traffic;
  }
  /// The bucket in host memory.
  void* buffer() const { return bucket_.buffer(); }
  void add(std::unique_ptr<MpiRunner> runner) { runners_.push_back(std::move(runner)); }
  void add(std::unique_ptr<MpiLibraryReduce> reduce) { reduce_ = std::move(reduce); }

  void run(const StepContext& context) override {
    observer_.peer_waits = &context.counters->peer_waits;
    bucket_.open();
    arrivals_.arrive(clock_.now());
    times_.arrive(*context.counters);
    runners_.front()->run(patience_, observer_);
    if (reduce_ != nullptr) reduce_->run(patience_, *observer_.traffic);
    if (runners_.size() > 1) runners_.back()->run(patience_, observer_);
    times_.leave(*context.counters);
    bucket_.close();
  }

 private:
  HostBucket bucket_;
  std::vector<std::unique_ptr<MpiRunner>> runners_;
  std::unique_ptr<MpiLibraryReduce> reduce_;
  Patience patience_;
  MpiRunner::Observer observer_;
  CollectiveTimes times_;
  ArrivalLog& arrivals_;
  const ProcessClock& clock_;
};

}  // namespace

struct MpiTransport::State {
  MpiSession& session;
  MpiTransportOptions options;
  MpiComm communicator{};
  Accounts& accounts;
  std::map<std::int64_t, MpiGroup> groups;
  MpiArrivals arrivals;
  MpiMessages messages;

  State(MpiSession& the_session, const MpiTransportOptions& the_options, Accounts& the_accounts)
      : session(the_session),
        options(the_options),
        accounts(the_accounts),
        arrivals(the_options.clock),
        messages(the_session,
                 {.chunk_bytes = the_options.message_chunk_bytes,
                  .chunk_bytes_between_hosts = the_options.chunk_bytes_between_hosts,
                  .limit_ns = the_options.limit_ns},
                 the_accounts) {
    mpi_call(mpi().comm_dup(mpi().world(), communicator), "MPI_Comm_dup");
  }

  MpiGroup& group_of(const Node& node) {
    const Attributes& attributes = node.attributes;
    const std::int64_t number = attributes.integer("group");
    const auto& processes = attributes.integers("processes");
    check(std::ssize(processes) == attributes.integer("members"),
          "a collective says where each member lives");
    check(processes.at(static_cast<std::size_t>(node.member)) == session.rank(),
          "a part holds the members that live in its process");
    const auto found = groups.find(number);
    if (found != groups.end()) return found->second;
    MpiGroup group({.op = node.op,
                    .group = number,
                    .algorithm = attributes.text("algorithm"),
                    .processes = processes},
                   session);
    return groups.emplace(number, std::move(group)).first->second;
  }

  std::unique_ptr<Kernel> build(const KernelRequest& request) {
    const Attributes& attributes = request.node.attributes;
    const Bucket bucket = bucket_of(request);
    const std::optional<Tensor> whole = whole_of(bucket.tensors);
    if (!whole) return nullptr;
    const ElementType element = whole->type.element;
    MpiGroup& group = group_of(request.node);
    const std::int64_t member = request.node.member;
    Account& account = accounts.open(request.node.place);
    ArrivalLog& log = arrivals.log(attributes.integer("group"), attributes.integer("members"),
                                   account.times.emplace());
    auto kernel = std::make_unique<MpiCollectiveKernel>(bucket,
                                                        Patience{.abort = request.abort,
                                                                 .spins = request.spins,
                                                                 .yields = request.yields,
                                                                 .limit_ns = options.limit_ns},
                                                        account, log, arrivals.clock());
    const std::int64_t chunk_bytes =
        group.between_hosts() ? options.chunk_bytes_between_hosts : options.chunk_bytes;
    for (MessageSchedule& schedule :
         group.schedules(member, whole->elements(), chunk_bytes / size_of(element))) {
      kernel->add(std::make_unique<MpiRunner>(
          std::move(schedule), group.links(member),
          MpiRunnerOptions{.communicator = communicator,
                           .buffer = static_cast<std::byte*>(kernel->buffer()),
                           .element = element,
                           .receives_in_flight = group.between_hosts()
                                                     ? options.receives_in_flight_between_hosts
                                                     : options.receives_in_flight,
                           .sends_in_flight = options.sends_in_flight,
                           .name = group.name(member)}));
    }
    if (group.by_library() && group.is_root(member)) {
      kernel->add(std::make_unique<MpiLibraryReduce>(
          MpiLibraryReduce::Request{.communicator = group.communicator(),
                                    .buffer = kernel->buffer(),
                                    .elements = whole->elements(),
                                    .element = element,
                                    .counts_as = group.traffic_of_roots(member, whole->type),
                                    .name = group.name(member)}));
    }
    return kernel;
  }
};

MpiTransport::MpiTransport(MpiSession& session, const MpiTransportOptions& options)
    : state_(std::make_unique<State>(session, options, accounts())) {}

/// Keeps communicators until MPI_Finalize: freeing one waits for ranks that may be gone.
MpiTransport::~MpiTransport() = default;

void MpiTransport::add_kernels(KernelTable& table) {
  for (const Op op : {Op::AllReduce, Op::ReduceScatter, Op::AllGather}) {
    table.add(op, [this, others = table.factory(op)](const auto& request) {
      if (request.node.attributes.has("processes")) return state_->build(request);
      return others ? others(request) : nullptr;
    });
  }
  for (const Op op : {Op::Send, Op::Receive}) {
    table.add(op, [this, others = table.factory(op)](const auto& request) {
      const Node& node = request.node;
      const bool is_other = node.attributes.has("control") || is_of_server(node);
      if (!is_other) return state_->messages.build(request);
      return others ? others(request) : nullptr;
    });
  }
  table.add(Op::Sent, [this](const auto& request) { return state_->messages.build(request); });
}

void MpiTransport::connect() {
  for (auto& [number, group] : state_->groups) group.connect(state_->communicator);
  state_->arrivals.connect(state_->communicator, state_->session);
}

void MpiTransport::settle_arrivals() { state_->arrivals.settle(state_->communicator); }

std::optional<ClockFacts> MpiTransport::clock() const { return state_->arrivals.facts(); }

}  // namespace regatta::comm
