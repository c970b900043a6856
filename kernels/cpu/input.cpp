// SPDX-License-Identifier: Apache-2.0
//
// input: the slice of a step's global batch, prepared ahead; batch.h describes its contents. A
// slice that is the same in every step is written once, when the kernel is built (the memory of
// inputs is not shared with other values).
#include <array>
#include <cstring>

#include "kernels/cpu/batch.h"
#include "kernels/cpu/buffer.h"
#include "kernels/cpu/element.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/prefetcher.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

class Input final : public Kernel {
 public:
  Input(const KernelRequest& request, BatchPlan plan)
      : plan_(std::move(plan)),
        examples_(request.outputs[0]),
        targets_(request.outputs[1]),
        abort_(request.abort),
        parts_(parts_for(request.threads, request.outputs[0].elements())),
        staging_{Staging(request), Staging(request)},
        prefetcher_([this](std::int64_t step, std::size_t buffer) {
          digests_[buffer] = fill_batch(plan_, step, order_, staging_[buffer].view());
        }) {}

  void run(const StepContext& context) override {
    prefetcher_.take(context.step, abort_, [this](std::size_t buffer) {
      const BatchView batch = staging_[buffer].view();
      yield(batch.examples);
      std::memcpy(targets_.data, batch.targets, static_cast<std::size_t>(targets_.type.bytes()));
      consumed_ = digests_[buffer];
    });
    if (context.counters != nullptr) context.counters->count_input(context.step, consumed_);
  }

 private:
  void yield(const void* examples) {
    if (examples_.type.element != ElementType::BF16) {
      std::memcpy(examples_.data, examples, static_cast<std::size_t>(examples_.type.bytes()));
      return;
    }
    parallel_parts(parts_, [&](int part) {
      const Range mine = share(examples_.elements(), parts_, part);
      auto* const to = examples_.as<Bf16>();
      const auto* const from = static_cast<const float*>(examples);
#pragma omp simd
      for (std::int64_t i = mine.begin; i < mine.end; ++i) store(to[i], from[i]);
    });
  }

  struct Staging {
    explicit Staging(const KernelRequest& request)
        : examples(make_buffer<std::byte>(  // f32 or i32
              sizeof(float) * static_cast<std::size_t>(request.outputs[0].elements()))),
          targets(
              make_buffer<std::byte>(static_cast<std::size_t>(request.outputs[1].type.bytes()))) {}
    BatchView view() const { return {.examples = examples.get(), .targets = targets.get()}; }

    Buffer<std::byte> examples;
    Buffer<std::byte> targets;
  };

  BatchPlan plan_;
  Tensor examples_;
  Tensor targets_;
  const AbortFlag* abort_;
  int parts_;
  EpochOrder order_;  ///< used by the prefetcher's thread
  std::array<Staging, 2> staging_;
  std::array<std::uint64_t, 2> digests_{};  ///< of the batches in the buffers
  std::uint64_t consumed_ = 0;              ///< digest of the batch handed out last
  Prefetcher prefetcher_;                   // last member: its thread uses all of the above
};

KernelPointer input(const KernelRequest& request) {
  BatchPlan plan(request);
  const ElementType element = request.outputs[0].type.element;
  if (!plan.is_constant() || element == ElementType::BF16)
    return std::make_unique<Input>(request, std::move(plan));
  EpochOrder order;
  const std::uint64_t digest = fill_batch(
      plan, 0, order, {.examples = request.outputs[0].data, .targets = request.outputs[1].data});
  return make_kernel([digest](const StepContext& context) {
    if (context.counters != nullptr) context.counters->count_input(context.step, digest);
  });
}

}  // namespace

KernelRows input_kernels() { return {{Op::Input, input}}; }

}  // namespace regatta::cpu
