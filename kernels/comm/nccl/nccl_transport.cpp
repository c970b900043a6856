// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/nccl/nccl_transport.h"

#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/comm/backoff.h"
#include "kernels/comm/collective/bucket_elements.h"
#include "kernels/comm/nccl/nccl_calls.h"
#include "kernels/comm/nccl/nccl_communicator.h"
#include "kernels/comm/nccl/nccl_kernel.h"
#include "kernels/comm/nccl/nccl_roll.h"
#include "kernels/comm/nccl/nccl_settings.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/shared_library.h"

namespace regatta::comm {
namespace {

constexpr std::int64_t kLimitNs = 120'000'000'000;  // the longest wait, also in connect()
constexpr std::int64_t kCloseLimitNs = 10'000'000'000;

/// One kernel's collective.
struct NcclBucket {
  std::int64_t group = 0;
  NcclExchange exchange;
};

/// Lists buckets as a roll does (nccl_roll.h).
std::string text_of(const std::vector<NcclBucket>& buckets) {
  std::string text;
  for (const NcclBucket& bucket : buckets) {
    text += (text.empty() ? "" : ",") + std::to_string(bucket.group) + ':' +
            std::to_string(bucket.exchange.buffer.elements());
  }
  return text;
}

NcclExchange exchange_of(Op op, const Tensor& buffer, std::int64_t members) {
  NcclExchange exchange{.op = op, .buffer = buffer, .shares = {}};
  for (std::int64_t m = 0; m < members && op != Op::AllReduce; ++m) {
    exchange.shares.push_back(share(buffer.elements(), members, share_at(m, members)));
  }
  return exchange;
}

/// The members of one communicator that are in this process. Maps are by member:
struct Clique {
  std::int64_t members = 0;  ///< in all processes
  std::map<std::int64_t, StreamPlace> places;
  std::map<std::int64_t, std::vector<NcclBucket>> buckets;  ///< in the order of their kernels
  std::map<std::int64_t, std::unique_ptr<NcclCommunicator>> communicators;
};

std::string seconds(std::int64_t ns) { return std::to_string(ns / 1'000'000'000) + " s"; }

}  // namespace

struct NcclTransport::State {
  std::unique_ptr<Rendezvous> rendezvous;
  const NcclCalls& calls = nccl_library();
  std::map<Op, KernelFactory> before;
  std::string algorithm;
  std::optional<PinnedNcclAlgorithm> pinned;  // outlives the communicators, like the next
  std::optional<SharedGpuPermission> permission;
  std::map<std::string, Clique> cliques;
  Accounts& accounts;
  const AbortFlag* abort = nullptr;  // the executor's

  State(std::unique_ptr<Rendezvous> the_rendezvous, Accounts& the_accounts)
      : rendezvous(std::move(the_rendezvous)), accounts(the_accounts) {}

  std::unique_ptr<Kernel> build(const KernelRequest& request) {
    const Attributes& attributes = request.node.attributes;
    const std::string wanted = attributes.text("algorithm");
    const std::optional<StreamPlace> place =
        request.queue == nullptr ? std::nullopt : request.queue->stream_place();
    if (!place || !is_nccl_algorithm(wanted)) {
      const KernelFactory& other = before.at(request.node.op);
      return other ? other(request) : nullptr;
    }
    const std::optional<Tensor> buffer = whole_of(bucket_of(request).tensors);
    if (!buffer) return nullptr;
    if (request.node.op == Op::AllReduce) pin(wanted);
    if (!permission && version() >= kSharesGpus) permission.emplace();
    const std::int64_t members = attributes.integer("members");
    const std::int64_t member = request.node.member;
    const std::vector<std::int64_t> processes =
        attributes.has("processes")
            ? attributes.integers("processes")
            : std::vector<std::int64_t>(static_cast<std::size_t>(members), rendezvous->process());
    const CollectiveShape as_ring{.op = request.node.op,
                                  .algorithm = kRing,
                                  .members = members,
                                  .group = attributes.integer("group"),
                                  .elements = buffer->elements(),
                                  .element_bytes = size_of(buffer->type.element),
                                  .part_of = processes};
    abort = request.abort;
    Clique& clique = clique_of(processes, member);
    const NcclExchange exchange = exchange_of(request.node.op, *buffer, members);
    clique.buckets[member].push_back({.group = attributes.integer("group"), .exchange = exchange});
    return std::make_unique<NcclKernel>(request, exchange, member_traffic(as_ring, member),
                                        kLimitNs, communicator(clique, member, *place),
                                        accounts.open(request.node.place), choice(request.node.op));
  }

  int version() const {
    int version = 0;
    nccl_call(calls, calls.get_version(&version), "ncclGetVersion");
    return version;
  }

  std::string choice(Op op) const {
    const std::string nccl = "NCCL " + version_text(static_cast<std::size_t>(version()));
    if (op == Op::ReduceScatter) return nccl + ", a reduction to each member";
    if (op == Op::AllGather) return nccl + ", a broadcast from each member";
    return nccl + (algorithm == kRing ? ", held to its ring" : ", as it chooses");
  }

  /// Pins NCCL's algorithm, of which a process has one.
  void pin(const std::string& wanted) {
    if (!pinned) {
      pinned.emplace(wanted);
      algorithm = wanted;
    }
    if (algorithm == wanted) return;
    throw RunError(ErrorKind::Usage, "all_reduce by " + algorithm + " and by " + wanted +
                                         " in one run: NCCL takes one algorithm a process");
  }

  Clique& clique_of(const std::vector<std::int64_t>& processes, std::int64_t member) {
    const auto members = std::ssize(processes);
    check(member < members && processes[static_cast<std::size_t>(member)] == rendezvous->process(),
          "a part holds the members that live in its process");
    Clique& clique = cliques[NcclRoll::clique_of(processes)];
    clique.members = members;
    return clique;
  }

  NcclCommunicator& communicator(Clique& clique, std::int64_t member, const StreamPlace& place) {
    const auto [known, is_new] = clique.places.emplace(member, place);
    check(known->second.stream == place.stream, "buckets of a member are reduced on one stream");
    std::unique_ptr<NcclCommunicator>& communicator = clique.communicators[member];
    if (is_new) {
      communicator = std::make_unique<NcclCommunicator>(NcclCommunicator::Request{
          .calls = &calls,
          .name = "member " + std::to_string(member) + " of " + std::to_string(clique.members) +
                  " in process " + std::to_string(rendezvous->process()),
          .member = member,
          .members = clique.members,
          .device = place.device});
    }
    return *communicator;
  }

  /// The members and ids of this process, for the other processes.
  std::string own_roll() const {
    NcclRoll roll;
    for (const auto& [name, clique] : cliques) {
      for (const auto& [member, place] : clique.places) {
        roll.add_member(
            name, member,
            {.gpu = host_id() + '/' + place.gpu, .buckets = text_of(clique.buckets.at(member))});
      }
      if (!clique.places.contains(0)) continue;
      ncclUniqueId id{};
      nccl_call(calls, calls.get_unique_id(&id), "ncclGetUniqueId");
      roll.add_id(name, std::string(id.internal, sizeof id.internal));
    }
    return roll.text();
  }

  void connect(const Patience& patience) {
    const auto known = NcclRoll::read(rendezvous->exchange(own_roll(), patience));
    const SharedGpus shared = version() >= kSharesGpus ? SharedGpus::Allowed : SharedGpus::Refused;
    for (const auto& [name, clique] : cliques) {
      NcclRoll::verify(name, known.at(name), clique.members, shared);
      if (NcclRoll::shares_gpus(known.at(name))) permission.value().require();
    }
    for (auto& [name, clique] : cliques) {
      begin(clique, known.at(name).id);
      await(name, clique, patience);
      register_buckets(clique);
      warm_up(clique, patience);
    }
  }

  static void register_buckets(Clique& clique) {
    for (const auto& [member, communicator] : clique.communicators) {
      communicator->adopt_thread();
      for (const NcclBucket& bucket : clique.buckets.at(member)) {
        // Other buckets may use memory that is reused at other times, and differ between members.
        if (bucket.exchange.op != Op::AllReduce) continue;
        communicator->register_buffer(bucket.exchange.buffer);
      }
    }
  }

  /// Exchanges each bucket once before the first step, because NCCL connects rings and trees at the
  /// first exchange, which no timed step should include. The buckets' values are not used.
  static void warm_up(Clique& clique, const Patience& patience) {
    std::vector<std::thread> lanes;  // one a member: each waits for the others
    std::vector<std::exception_ptr> errors(clique.communicators.size());
    for (const auto& [member, communicator] : clique.communicators) {
      lanes.emplace_back([&, number = member, &error = errors[lanes.size()]] {
        try {
          clique.communicators.at(number)->adopt_thread();
          for (const NcclBucket& bucket : clique.buckets.at(number)) {
            clique.communicators.at(number)->run(bucket.exchange, clique.places.at(number).stream,
                                                 patience);
          }
        } catch (...) {
          error = std::current_exception();
        }
      });
    }
    for (std::thread& lane : lanes) lane.join();
    for (const std::exception_ptr& error : errors) {
      if (error != nullptr) std::rethrow_exception(error);
    }
  }

  /// Begins all communicators of this process in one group: one by one, they would deadlock.
  void begin(Clique& clique, const std::string& id) const {
    nccl_call(calls, calls.group_start(), "ncclGroupStart");
    try {
      for (auto& [member, communicator] : clique.communicators) communicator->begin(id);
    } catch (...) {
      calls.group_end();
      throw;
    }
    nccl_call(calls, calls.group_end(), "ncclGroupEnd");
  }

  void await(const std::string& name, Clique& clique, const Patience& patience) const {
    Backoff backoff(patience);
    for (;;) {
      std::string waiting;
      for (auto& [member, communicator] : clique.communicators) {
        if (!communicator->is_settled()) waiting += ' ' + std::to_string(member);
      }
      if (waiting.empty()) return;
      if (backoff.wait()) continue;
      throw RunError(
          ErrorKind::Timeout,
          "NCCL did not connect member" + waiting + " to processes " + name + " within " +
              seconds(patience.limit_ns) +
              ", though all of them came; fix: run again with NCCL_DEBUG=INFO, which names "
              "the network that was tried (NCCL_SOCKET_IFNAME chooses it)");
    }
  }

  template <typename Action>
  void for_each_communicator(Action action) {
    for (auto& [name, clique] : cliques) {
      for (auto& [member, communicator] : clique.communicators) action(*communicator);
    }
  }

  void abort_all() {
    for_each_communicator([](NcclCommunicator& communicator) { communicator.abort(); });
  }

  void close_all() {
    bool is_sound = true;
    for_each_communicator([&](NcclCommunicator& each) { is_sound &= !each.is_aborted(); });
    if (!is_sound) return abort_all();
    for_each_communicator([](NcclCommunicator& each) { each.begin_close(); });
    const Patience patience{.limit_ns = kCloseLimitNs};
    Backoff backoff(patience);
    for (;;) {
      bool all_closed = true;
      for_each_communicator([&](NcclCommunicator& each) { all_closed &= each.is_closed(); });
      if (all_closed) return;
      if (!backoff.wait()) return abort_all();
    }
  }
};

NcclTransport::NcclTransport(std::unique_ptr<Rendezvous> rendezvous)
    : state_(std::make_unique<State>(std::move(rendezvous), accounts())) {}

NcclTransport::~NcclTransport() { state_->close_all(); }

void NcclTransport::add_kernels(KernelTable& table) {
  for (const Op op : {Op::AllReduce, Op::ReduceScatter, Op::AllGather}) {
    state_->before[op] = table.factory(op);
    table.add(op, [this](const auto& request) { return state_->build(request); });
  }
}

void NcclTransport::connect() {
  try {
    state_->connect({.abort = state_->abort, .limit_ns = kLimitNs});
  } catch (...) {
    state_->abort_all();
    throw;
  }
}

}  // namespace regatta::comm
