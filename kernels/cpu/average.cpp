// SPDX-License-Identifier: Apache-2.0
//
// average: w and the same variable v of another replica, drawn anew for each step, both become
// (w + v) / 2. What the two replicas update meanwhile comes before or behind this, block of
// kShardElements by block: the locks of both are held, so that nothing is lost. The loop's own
// average is no version that its next update has missed.
#include <algorithm>
#include <mutex>
#include <vector>

#include "kernels/cpu/factories.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/shared_update.h"
#include "kernels/graph/error.h"
#include "kernels/graph/random.h"

namespace regatta::cpu {
namespace {

class Average {
 public:
  explicit Average(const KernelRequest& request)
      : own_(request.variables[0]),
        others_(request.variables.begin() + 1, request.variables.end()),
        seen_(seen_version(request)),
        seed_(request.seed),
        replica_(static_cast<std::uint32_t>(request.node.attributes.integer("replica"))),
        parts_(parts_for(request.threads, own_->tensor.elements())) {}

  void operator()(const StepContext& context) const {
    const auto peers = static_cast<std::uint32_t>(others_.size());
    VariableStorage& other = *others_[draw_peer(seed_, replica_, context.step, peers)];
    const auto shards = static_cast<std::int64_t>(own_->shards.size());
    parallel_parts(parts_, [&](int part) {
      const Range mine = share(shards, parts_, part);
      for (std::int64_t shard = mine.begin; shard < mine.end; ++shard) {
        average_shard(other, static_cast<std::size_t>(shard));
      }
    });
    for (VariableStorage* each : {own_, &other}) {
      std::atomic_ref<std::uint64_t>(each->counts->averages)
          .fetch_add(1, std::memory_order_acq_rel);
    }
    if (seen_ != nullptr) ++seen_->number;
  }

 private:
  void average_shard(VariableStorage& other, std::size_t shard) const {
    const std::scoped_lock locks(own_->shards[shard], other.shards[shard]);
    const std::int64_t begin = static_cast<std::int64_t>(shard) * kShardElements;
    const std::int64_t end = std::min(own_->tensor.elements(), begin + kShardElements);
    float* const mine = own_->tensor.f32();
    float* const theirs = other.tensor.f32();
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      const float mean = 0.5F * (mine[i] + theirs[i]);
      mine[i] = mean;
      theirs[i] = mean;
    }
  }

  VariableStorage* own_;
  std::vector<VariableStorage*> others_;
  SeenVersion* seen_;
  std::uint64_t seed_;
  std::uint32_t replica_;
  int parts_;
};

}  // namespace

KernelPointer average(const KernelRequest& request) {
  if (request.variables[0]->tensor.type.element != ElementType::F32) return nullptr;
  for (const VariableStorage* variable : request.variables) {
    check(variable->sharing == Sharing::Locked, "average needs locks");
  }
  return make_kernel(Average(request));
}

}  // namespace regatta::cpu
