// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/collective/queued_collective.h"

#include <utility>

#include "kernels/base/error.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {
QueuedCollective::QueuedCollective(KernelFactory build, Op op, std::int64_t members,
                                   std::int64_t group)
    : build_(std::move(build)),
      op_(op),
      group_(group),
      buckets_(static_cast<std::size_t>(members)) {
  for (std::size_t m = 0; m < buckets_.size(); ++m) members_.push_back(std::make_unique<Member>());
  shared_launch_.members = buckets_.size();
}

void QueuedCollective::join(const KernelRequest& request, const Bucket& bucket,
                            const Tensor& whole) {
  const auto index = static_cast<std::size_t>(bucket.member);
  check(members_.at(index)->queue == nullptr, "a member joins a collective once");
  members_[index]->queue = request.queue;
  members_[index]->share = bucket.share;
  buckets_[index] = whole;
  algorithm_ = request.node.attributes.text("algorithm");
  ++joined_;
  if (!all_joined() || is_nothing_to_do() || !why_not().empty()) return;
  launcher_ = bucket.member;
  std::vector<Tensor> shares;
  for (const auto& member : members_) {
    shares.insert(shares.end(), member->share.begin(), member->share.end());
  }
  kernel_ = build_({.node = request.node,
                    .inputs = op_ == Op::AllGather ? shares : buckets_,
                    .outputs = buckets_,
                    .variables = {},
                    .versions_seen = {},
                    .queue = request.queue});
  check(kernel_ != nullptr, "a device's collective takes buckets of f32 and bf16");
}

std::string QueuedCollective::why_not() const {
  if (!build_) return "the device has no kernel for it";
  if (op_ != Op::AllGather && !has_addition_orders(algorithm_))
    return "the kernel does not add in its order";
  return "";
}

void QueuedCollective::run(std::int64_t member, const Patience& patience, WaitClock& waits) {
  Member& own = *members_[static_cast<std::size_t>(member)];
  own.arrived.advance_to(++own.runs);
  for (std::size_t other = 0; other < members_.size(); ++other) {
    Counter& arrived = members_[other]->arrived;
    if (arrived.value() >= own.runs) continue;
    waits.begin(ticks());
    if (!arrived.wait_for(own.runs, patience)) {
      timed_out(member, name(static_cast<std::int64_t>(other)));
    }
    waits.end(ticks());
  }
  if (is_launcher(member)) {
    enqueue();
    own.queue->finish();
    done_.advance_to(own.runs);
  } else if (!done_.wait_for(own.runs, patience)) {
    timed_out(member, "the kernel, which is in the queue of " + name(launcher_));
  }
}

void QueuedCollective::timed_out(std::int64_t member, const std::string& awaited) const {
  throw RunError(ErrorKind::Timeout, std::string(to_string(op_)) + " " + std::to_string(group_) +
                                         ": " + name(member) + " waited in vain for " + awaited);
}

}  // namespace regatta::comm
