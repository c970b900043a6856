// SPDX-License-Identifier: Apache-2.0
//
// A collective between places that share a GPU: one GPU kernel reads and writes all members' memory
// (kernels/cuda/ops/collective.cu), in the queue of the member that joined last. If kernels are
// launched one by one, members synchronise on the host: each finishes its queue, waits for the
// others, and continues when the work is done. If a whole step is launched as one, the queues wait
// for each other on the device (SharedLaunch, kernels/runtime/capture/queued_exchange.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/comm/collective/host_bucket.h"
#include "kernels/runtime/capture/queued_exchange.h"
#include "kernels/runtime/counter.h"
#include "kernels/runtime/kernel.h"

namespace regatta::comm {

class QueuedCollective {
 public:
  /// `build` is the device's kernel factory for `op`; empty if the device has none. Outputs of the
  /// kernel are the buckets of all members, in order; its inputs are the same buckets or, for an
  /// all_gather, the members' shares.
  QueuedCollective(KernelFactory build, Op op, std::int64_t members, std::int64_t group);

  /// Registers a member. Called once for each member, when its kernel is built. `whole` is the
  /// member's bucket as one tensor (bucket_elements.h).
  void join(const KernelRequest& request, const Bucket& bucket, const Tensor& whole);

  bool all_joined() const { return buckets_.size() == joined_; }
  /// Returns why the device cannot run the collective; empty if it can. Called once all members
  /// have joined.
  std::string why_not() const;
  /// Whether there is no work, because the bucket of a single member is already the sum.
  bool is_nothing_to_do() const { return members_.size() == 1 && op_ != Op::AllGather; }
  bool is_built() const { return kernel_ != nullptr; }
  bool is_launcher(std::int64_t member) const { return is_built() && member == launcher_; }

  /// Runs the collective and returns when it is done at all members; `waits` counts the time until
  /// all members have arrived. Called if kernels are launched one by one. Threads: called by each
  /// member's lane. Throws: RunError(Timeout) that names the missing members, Aborted.
  void run(std::int64_t member, const Patience& patience, WaitClock& waits);

  /// Puts the work into the queue of the member for which is_launcher() is true.
  void enqueue() { kernel_->run({}); }
  SharedLaunch& shared_launch() { return shared_launch_; }

 private:
  struct Member {
    LaneQueue* queue = nullptr;
    std::vector<Tensor> share;  ///< the member's input to an all_gather
    Counter arrived;            ///< runs that the member has arrived at
    std::uint64_t runs = 0;
  };

  static std::string name(std::int64_t member) { return "member " + std::to_string(member); }
  [[noreturn]] void timed_out(std::int64_t member, const std::string& awaited) const;

  KernelFactory build_;
  Op op_;
  std::int64_t group_;
  std::string algorithm_;
  std::vector<Tensor> buckets_;
  std::vector<std::unique_ptr<Member>> members_;
  std::size_t joined_ = 0;
  std::int64_t launcher_ = -1;
  std::unique_ptr<Kernel> kernel_;
  Counter done_;  ///< runs that are complete
  SharedLaunch shared_launch_;
};

}  // namespace regatta::comm
