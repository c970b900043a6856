// SPDX-License-Identifier: Apache-2.0
//
// The kernel of a member of a collective that NCCL performs. run() returns when the exchange is
// done and, while it waits, checks that the peers are still there. In a recorded step
// (QueuedExchange) the lane that waits for the step calls look() to check this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/comm/collective/collective_times.h"
#include "kernels/comm/collective/host_bucket.h"
#include "kernels/comm/nccl/nccl_communicator.h"
#include "kernels/comm/transport.h"
#include "kernels/runtime/capture/queued_exchange.h"
#include "kernels/runtime/chosen_kernel.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {

class NcclKernel final : public ChosenKernel, public QueuedExchange {
 public:
  NcclKernel(const KernelRequest& request, NcclExchange exchange, MemberTraffic of_one_run,
             std::int64_t limit_ns, NcclCommunicator& communicator, Account& account,
             std::string choice)
      : communicator_(communicator),
        account_(account),
        times_(account.times.emplace()),
        of_one_run_(of_one_run),
        choice_(std::move(choice)),
        exchange_(std::move(exchange)),
        queue_(*request.queue),
        stream_(request.queue->stream_place()->stream),
        patience_{.abort = request.abort,
                  .spins = request.spins,
                  .yields = request.yields,
                  .limit_ns = limit_ns} {
    const Bucket bucket = bucket_of(request);
    const std::int64_t member = request.node.member;
    if (exchange_.op == Op::AllGather) bring(bucket.share, at(member));
  }

  /// Deregisters the buffer before the executor frees its memory.
  ~NcclKernel() override { communicator_.deregister_buffer(exchange_.buffer); }
  NcclKernel(const NcclKernel&) = delete;
  NcclKernel& operator=(const NcclKernel&) = delete;

  void run(const StepContext& context) override {
    times_.arrive(*context.counters);
    context.counters->peer_waits.begin(ticks());
    bring_share();
    communicator_.run(exchange_, stream_, patience_);
    context.counters->peer_waits.end(ticks());
    times_.leave(*context.counters);
    count_step();
  }
  QueuedExchange* queued_exchange() override { return this; }
  void enqueue() override {
    bring_share();
    communicator_.enqueue(exchange_, stream_, patience_);
  }
  bool awaits_others() const override { return true; }
  void look(std::int64_t waited_ns) override { communicator_.look(waited_ns, patience_); }
  void count_step() override { account_.traffic += of_one_run_; }
  void give_up() noexcept override { communicator_.abort(); }
  std::string choice() const override { return choice_; }

 private:
  /// Returns the address of a member's share in the bucket.
  std::byte* at(std::int64_t member) const {
    const Range& own = exchange_.shares[static_cast<std::size_t>(member)];
    const std::int64_t bytes = size_of(exchange_.buffer.type.element);
    return exchange_.buffer.as<std::byte>() + own.begin * bytes;
  }
  void bring(const std::vector<Tensor>& share, std::byte* to) {
    for (const Tensor& piece : share) {
      if (piece.data != to) {
        brought_.push_back({.to = to, .from = piece.data, .bytes = piece.type.bytes()});
      }
      to += piece.type.bytes();
    }
  }
  void bring_share() const {
    for (const MemoryCopy& each : brought_) queue_.copy(each.to, each.from, each.bytes);
  }

  NcclCommunicator& communicator_;
  Account& account_;
  CollectiveTimes times_;
  MemberTraffic of_one_run_;
  std::string choice_;
  NcclExchange exchange_;
  std::vector<MemoryCopy> brought_;  ///< copies of an all_gather's inputs into the bucket
  LaneQueue& queue_;
  CUstream_st* stream_;
  Patience patience_;
};

}  // namespace regatta::comm
