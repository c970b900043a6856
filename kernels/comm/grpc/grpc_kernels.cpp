// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/grpc_kernels.h"

#include <string>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/comm/grpc/grpc_stream.h"
#include "kernels/comm/grpc/scatter.h"
#include "kernels/comm/staging.h"
#include "kernels/distribute/partition.h"
#include "kernels/runtime/loops/step_rule.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {
namespace {

/// Longer than it takes to detect a lost peer, which is the longest that gRPC holds memory.
constexpr std::int64_t kReleaseLimitNs = 60'000'000'000;

/// A message as both of its kernels see it.
class Message {
 public:
  Message(const KernelRequest& request, const ExchangeOptions& options, std::shared_ptr<Link> link)
      : link_(std::move(link)),
        number_(request.node.attributes.integer("message")),
        absence_(request.rule == nullptr ? nullptr : request.rule->absence(request.node)),
        patience_{.abort = request.abort,
                  .spins = request.spins,
                  .yields = request.yields,
                  .limit_ns = options.wait_limit_ns} {}

  Link& link() const { return *link_; }
  std::int64_t number() const { return number_; }
  const Patience& patience() const { return patience_; }

  /// Waits for the connection. False: the peer is absent, which has been noted.
  bool wait_until_open(std::int64_t step) const {
    if (!link_->wait_until_open(patience_)) fail(step, "there is no connection to");
    if (!link_->is_lost()) return true;
    lost(step);
    return false;
  }
  [[noreturn]] void fail(std::int64_t step, const std::string& what) const {
    throw RunError(ErrorKind::Timeout, "step " + std::to_string(step) + ", message " +
                                           std::to_string(number_) + ": after " +
                                           std::to_string(patience_.limit_ns / 1'000'000) + " ms " +
                                           what + " process " + std::to_string(link_->ends().peer));
  }
  /// Notes the peer's absence. Throws: RunError(PeerLost) if absence is an error.
  void lost(std::int64_t step) const {
    const std::string what = "step " + std::to_string(step) + ", message " +
                             std::to_string(number_) + ": process " +
                             std::to_string(link_->ends().peer) + " is lost: " + link_->reason();
    if (absence_ == nullptr) throw RunError(ErrorKind::PeerLost, what);
    absence_->note(what);
  }

 private:
  std::shared_ptr<Link> link_;
  std::int64_t number_;
  Absence* absence_;
  Patience patience_;
};

/// Numbers the steps of this process from 0; its first step may be a later one of the run.
class StepCount {
 public:
  std::int64_t number(std::int64_t step) {
    if (count_ == 0) first_ = step;
    check(step == first_ + count_, "no step of a message is left out");
    return count_++;
  }

 private:
  std::int64_t first_ = 0;
  std::int64_t count_ = 0;
};

class SendKernel final : public Kernel {
 public:
  SendKernel(const KernelRequest& request, Message message, std::int64_t chunk_bytes,
             MemberTraffic& traffic)
      : message_(std::move(message)),
        staging_(request.queue, request.inputs),
        parcel_(message_.link().announce(message_.number(), staging_.tensors(), chunk_bytes)),
        traffic_(traffic) {}

  /// Waits until gRPC no longer points to the tensors, which may be freed afterwards.
  ~SendKernel() override {
    constexpr Patience kNow{.limit_ns = 0};
    if (parcel_.wait(kNow)) return;
    message_.link().lose("this process gave up before all was sent");
    if (const auto stream = message_.link().stream()) stream->cancel();
    check(parcel_.wait({.limit_ns = kReleaseLimitNs}), "gRPC lets go of what it sends");
  }

  void run(const StepContext& context) override {
    if (!message_.wait_until_open(context.step)) return;
    staging_.fetch();
    parcel_.begin(steps_.number(context.step));
    message_.link().send(parcel_);
    if (!parcel_.wait(message_.patience())) message_.fail(context.step, "not all was taken by");
    if (parcel_.dropped()) return message_.lost(context.step);
    traffic_.sent += parcel_.total_bytes();
  }

 private:
  Message message_;
  Staging staging_;
  Parcel& parcel_;
  MemberTraffic& traffic_;
  StepCount steps_;
};

class ReceiveKernel final : public Kernel {
 public:
  ReceiveKernel(const KernelRequest& request, Message message, MemberTraffic& traffic,
                const std::optional<PushAccount>& push)
      : message_(std::move(message)),
        staging_(request.queue, request.outputs),
        scatter_(staging_.tensors(), request.inputs.empty() ? Landing::Replaces : Landing::Adds),
        inbox_(message_.link().expect(message_.number(), scatter_.bytes(),
                                      request.node.attributes.has("control") ? kTicketsAhead : 1)),
        traffic_(traffic),
        push_(push) {
    check(request.queue == nullptr || request.inputs.empty(),
          "servers, who add up what they receive, compute on the CPU");
    if (push_) number_in_push_ = push_->ledger.expect(sender_of(request.node));
  }

  void run(const StepContext& context) override {
    steps_.number(context.step);
    scatter_.begin();
    staging_.begin();
    context.counters->peer_waits.begin(ticks());
    bool takes = take(context.step, scatter_.bytes());
    context.counters->peer_waits.end(ticks());
    std::int64_t landed = land();
    while (takes && landed < scatter_.bytes()) {
      staging_.store_until(landed);
      takes = take(context.step, scatter_.bytes() - landed);
      landed += land();
    }
    staging_.store_until(landed);
    if (!takes) return;
    if (push_) enter(*push_);
    traffic_.received += scatter_.bytes();
    ++traffic_.messages;
  }

 private:
  /// Takes bytes of the message. False: the peer is absent, which has been noted; no more comes.
  bool take(std::int64_t step, std::int64_t missing) {
    if (!inbox_.wait(message_.patience())) message_.fail(step, missing_text(missing));
    if (inbox_.take(slices_) == 0) {
      message_.lost(step);
      return false;
    }
    taken_ = ticks();
    return true;
  }
  std::string missing_text(std::int64_t bytes) const {
    if (bytes == scatter_.bytes()) return "nothing has come from";
    return std::to_string(bytes) + " of " + std::to_string(scatter_.bytes()) +
           " bytes are missing from";
  }
  std::int64_t land() {
    std::int64_t bytes = 0;
    for (const grpc::Slice& slice : slices_) {
      scatter_.land({slice.begin(), slice.size()});
      bytes += static_cast<std::int64_t>(slice.size());
    }
    slices_.clear();
    return bytes;
  }
  void enter(const PushAccount& push) const {
    const MessageArrival& arrival = inbox_.arrival();
    push.times.queue.add(span_ns(arrival.last, taken_));
    push.times.wire.add(span_ns(arrival.first, arrival.last));
    push.ledger.note(number_in_push_, arrival.last);
  }

  Message message_;
  Staging staging_;
  Scatter scatter_;
  Inbox& inbox_;
  MemberTraffic& traffic_;
  std::vector<grpc::Slice> slices_;
  StepCount steps_;
  std::optional<PushAccount> push_;  ///< only for a push
  std::size_t number_in_push_ = 0;
  std::uint64_t taken_ = 0;  ///< when the last chunk was taken. Units: ticks
};

}  // namespace

std::unique_ptr<Kernel> make_send(const KernelRequest& request, const ExchangeOptions& options,
                                  const std::shared_ptr<Link>& link, MemberTraffic& traffic) {
  return std::make_unique<SendKernel>(request, Message(request, options, link), options.chunk_bytes,
                                      traffic);
}

std::unique_ptr<Kernel> make_receive(const KernelRequest& request, const ExchangeOptions& options,
                                     const std::shared_ptr<Link>& link, MemberTraffic& traffic,
                                     const std::optional<PushAccount>& push) {
  return std::make_unique<ReceiveKernel>(request, Message(request, options, link), traffic, push);
}

}  // namespace regatta::comm
