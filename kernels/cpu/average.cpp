// SPDX-License-Identifier: Apache-2.0
//
// average: w and v, the same variable of another replica that is drawn anew for each step, both
// become (w + v) / 2. Updates by the two replicas come before or after this, for each block of
// kShardElements: both locks are held, so no update is lost. The next update of this loop does not
// count the average as a version that it has missed.
// average_with: the same for v and a value of w from elsewhere; there, assign writes the mean to w.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/shared_update.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

void count_average(VariableStorage& variable) {
  std::atomic_ref<std::uint64_t>(variable.counts->averages).fetch_add(1, std::memory_order_acq_rel);
}

inline float mean_of(float one, float other) { return 0.5F * (one + other); }

class Average {
 public:
  explicit Average(const KernelRequest& request)
      : own_(request.variables[0]),
        others_(request.variables.begin() + 1, request.variables.end()),
        seen_(seen_version(request)),
        replica_(static_cast<std::uint32_t>(request.node.attributes.integer("replica"))),
        parts_(parts_for(request.threads, own_->tensor.elements())) {}

  void operator()(const StepContext& context) const {
    const auto peers = static_cast<std::uint32_t>(others_.size());
    VariableStorage& other = *others_[draw_peer(replica_, context.step, peers)];
    const auto shards = static_cast<std::int64_t>(own_->shards.size());
    parallel_parts(parts_, [&](int part) {
      const Range mine = share(shards, parts_, part);
      for (std::int64_t shard = mine.begin; shard < mine.end; ++shard) {
        average_shard(other, static_cast<std::size_t>(shard));
      }
    });
    for (VariableStorage* each : {own_, &other}) count_average(*each);
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
      const float mean = mean_of(mine[i], theirs[i]);
      mine[i] = mean;
      theirs[i] = mean;
    }
  }

  VariableStorage* own_;
  std::vector<VariableStorage*> others_;
  SeenVersion* seen_;
  std::uint32_t replica_;
  int parts_;
};

KernelPointer average(const KernelRequest& request) {
  if (request.variables[0]->tensor.type.element != ElementType::F32) return nullptr;
  for (const VariableStorage* variable : request.variables) {
    check(variable->sharing == Sharing::Locked, "average needs locks");
  }
  return make_kernel(Average(request));
}

KernelPointer average_with(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  VariableStorage* const variable = request.variables[0];
  if (y.type.element != ElementType::F32) return nullptr;
  check(variable->sharing == Sharing::Locked, "average_with needs locks");
  const int parts = parts_for(request.threads, y.elements());
  return make_kernel([=](const StepContext&) {
    for_each_shard(*variable, parts, [&](std::int64_t begin, std::int64_t end) {
      const float* const value = x.f32();
      float* const own = variable->tensor.f32();
      float* const mean = y.f32();
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) mean[i] = own[i] = mean_of(own[i], value[i]);
    });
    count_average(*variable);
  });
}

/// Writes a mean that another replica has computed to a variable that loops share.
KernelPointer assign(const KernelRequest& request) {
  const Tensor x = request.inputs[0];
  VariableStorage* const variable = request.variables[0];
  if (variable->sharing == Sharing::None) {
    return make_kernel([=, to = variable->tensor.data](const StepContext&) {
      std::memcpy(to, x.data, static_cast<std::size_t>(x.type.bytes()));
    });
  }
  check(variable->sharing == Sharing::Locked, "assign needs locks");
  const int parts = parts_for(request.threads, x.elements());
  return make_kernel([=, seen = seen_version(request)](const StepContext&) {
    for_each_shard(*variable, parts, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(variable->tensor.f32() + begin, x.f32() + begin,
                  static_cast<std::size_t>(end - begin) * sizeof(float));
    });
    count_average(*variable);
    if (seen != nullptr) ++seen->number;
  });
}

}  // namespace

KernelRows average_kernels() {
  return {{Op::Average, average}, {Op::AverageWith, average_with}, {Op::Assign, assign}};
}

}  // namespace regatta::cpu
