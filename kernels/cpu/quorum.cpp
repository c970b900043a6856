// SPDX-License-Identifier: Apache-2.0
//
// quorum: a worker's push at a server. When a push completes a step, its lane computes the weighted
// sums over all pushes that count, in the order of the members and by the arithmetic of `sum`. It
// writes them over the gradients of this push. A lost worker's push is dropped, because some
// servers may lack a part of it. arrival: 1 if all of a worker's gradients have arrived, else 0.
#include <algorithm>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/cpu/parallel.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/loops/step_rule.h"

namespace regatta::cpu {
namespace {

class QuorumPush {
 public:
  QuorumPush(const KernelRequest& request, std::span<const Tensor> gradients)
      : quorum_(*request.rule->quorum(request.node)),
        member_(request.node.member),
        gradients_(gradients),
        sums_(request.outputs.first(gradients.size())),
        heard_(request.inputs.last(request.inputs.size() - gradients.size())),
        absence_(request.rule->absence(request.node)),
        threads_(request.threads) {
    const bool decides = request.node.attributes.integer("decides") != 0;
    if (decides) yields_ = request.outputs.back().f32();
    terms_.reserve(static_cast<std::size_t>(quorum_.members()));
    quorum_.join(member_, {.gradients = gradients_,
                           .examples = request.node.attributes.integer("examples")});
  }

  void operator()(const StepContext&) {
    const PushVerdict verdict =
        yields_ != nullptr ? decide() : quorum_.follow(member_, *heard_.front().f32() != 0);
    if (yields_ != nullptr) *yields_ = verdict == PushVerdict::Dropped ? 0 : 1;
    if (verdict != PushVerdict::Completes) return;
    weight_ = quorum_.weight();
    for (std::size_t i = 0; i < gradients_.size(); ++i) add_up(i);
  }

 private:
  static constexpr std::int64_t kBlock = 1024;

  PushVerdict decide() {
    for (const Tensor& arrived : heard_) {
      if (*arrived.f32() != 0) continue;
      check(absence_ != nullptr, "a server tells of a loss where others go on without the worker");
      absence_->note("another server has lost this loop's worker");
    }
    const bool absent = absence_ != nullptr && absence_->noted();
    return absent ? PushVerdict::Dropped : quorum_.decide(member_);
  }

  void add_up(std::size_t gradient) {
    terms_.clear();
    for (std::int64_t m = 0; m < quorum_.members(); ++m) {
      const std::span<const Tensor> push = quorum_.counted(m);
      if (!push.empty()) terms_.push_back(push[gradient].f32());
    }
    float* const target = sums_[gradient].f32();
    const std::int64_t count = sums_[gradient].elements();
    parallel_ranges(parts_for(threads_, count), count, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; block += kBlock) {
        sum_block(block, std::min(kBlock, end - block), target);
      }
    });
  }

  /// Sums one block of all terms; the target may be one of them.
  void sum_block(std::int64_t begin, std::int64_t count, float* target) const {
    alignas(64) float sums[kBlock];
    std::fill_n(sums, count, 0.0F);
    for (const float* term : terms_) {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) sums[i] += term[begin + i];
    }
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) target[begin + i] = weight_ * sums[i];
  }

  Quorum& quorum_;
  std::int64_t member_;
  std::span<const Tensor> gradients_;
  std::span<const Tensor> sums_;
  std::span<const Tensor> heard_;  ///< arrivals at the server that decides, else its verdict
  Absence* absence_;
  int threads_;
  float* yields_ = nullptr;
  std::vector<const float*> terms_;
  float weight_ = 1;
};

KernelPointer arrival(const KernelRequest& request) {
  return make_kernel([absence = request.rule->absence(request.node),
                      arrived = request.outputs[0].f32()](const StepContext&) {
    *arrived = absence != nullptr && absence->noted() ? 0 : 1;
  });
}

KernelPointer quorum(const KernelRequest& request) {
  const auto hears = static_cast<std::size_t>(request.node.attributes.integer("hears"));
  const auto gradients = request.inputs.first(request.inputs.size() - hears);
  const bool f32 = std::all_of(gradients.begin(), gradients.end(), [](const Tensor& gradient) {
    return gradient.type.element == ElementType::F32;
  });
  if (!f32) return nullptr;
  check(request.rule->quorum(request.node) != nullptr,
        "a quorum stands at a server that holds one");
  return make_kernel(QuorumPush(request, gradients));
}

}  // namespace

KernelRows quorum_kernels() { return {{Op::Arrival, arrival}, {Op::Quorum, quorum}}; }

}  // namespace regatta::cpu
