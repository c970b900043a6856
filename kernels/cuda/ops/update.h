// SPDX-License-Identifier: Apache-2.0
//
// The common part of all updates: one thread of each block computes the factors of the step from
// the queue's step values, then the block updates its elements. shared_update.h handles variables
// that other queues access at any time. A Formula has
//   Factors factors(const StepValues&):  of the step; their `bool idle`: nothing to do
//   update(factors, gradient, variables): one element of each of kVariables variables
// Variables and gradients are f32. For .cu files only.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cuda/device/device_schedule.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/factories.h"
#include "kernels/cuda/ops/element.h"
#include "kernels/cuda/ops/shared_update.h"
#include "kernels/graph/error.h"

namespace regatta::cuda {

template <typename Formula>
struct Update {
  using Factors = typename Formula::Factors;
  static constexpr int kVariables = Formula::kVariables;
  static constexpr int kThreads = 256;
  static constexpr int kWidth = kPackWidth<float>;
  static constexpr int kTurns = 4;  ///< packs of a thread
  static constexpr std::int64_t kBlockElements = kThreads * kWidth * kTurns;

  Formula formula;
  const StepValues* step;
  const float* gradient;  ///< null: all zeros
  float* variables[kVariables];
  std::int64_t count;
  bool gradient_aligned;

  __host__ __device__ void operator()(const Block& block) const {
    auto* factors = reinterpret_cast<Factors*>(block.shared);
    block.each([&](int thread) {
      if (thread == 0) *factors = formula.factors(*step);
    });
    block.each([&](int thread) {
      if (factors->idle) return;
      for (int turn = 0; turn < kTurns; ++turn) {
        const std::int64_t pack = turn * kThreads + thread;
        update_pack(*factors, block.index * kBlockElements + pack * kWidth);
      }
    });
  }

  __host__ __device__ void update_pack(const Factors& factors, std::int64_t first) const {
    if (first + kWidth > count) {
      for (std::int64_t i = first; i < first + kWidth && i < count; ++i) update_one(factors, i);
      return;
    }
    float g[kWidth] = {}, v[kVariables][kWidth];
    read_gradient(first, g);
    for (int k = 0; k < kVariables; ++k) load_pack(variables[k] + first, v[k]);
    for (int j = 0; j < kWidth; ++j) {
      float element[kVariables];
      for (int k = 0; k < kVariables; ++k) element[k] = v[k][j];
      formula.update(factors, g[j], element);
      for (int k = 0; k < kVariables; ++k) v[k][j] = element[k];
    }
    for (int k = 0; k < kVariables; ++k) store_pack(variables[k] + first, v[k]);
  }

  /// A gradient in a bucket is aligned to its element only.
  __host__ __device__ void read_gradient(std::int64_t first, float (&g)[kWidth]) const {
    if (gradient == nullptr) return;
    if (gradient_aligned) {
      load_pack(gradient + first, g);
    } else {
      for (int j = 0; j < kWidth; ++j) g[j] = gradient[first + j];
    }
  }

  __host__ __device__ void update_one(const Factors& factors, std::int64_t i) const {
    float element[kVariables];
    for (int k = 0; k < kVariables; ++k) element[k] = variables[k][i];
    formula.update(factors, gradient == nullptr ? 0.0F : gradient[i], element);
    for (int k = 0; k < kVariables; ++k) variables[k][i] = element[k];
  }
};

/// Several updates by one formula, one behind the other in the blocks of one launch.
template <typename Formula>
struct MergedUpdates {
  const Update<Formula>* updates;
  const std::int64_t* first_blocks;  ///< of each
  int count;

  __host__ __device__ void operator()(const Block& block) const {
    int mine = 0, end = count;  // the last that begins at the block or before
    while (end - mine > 1) {
      const int middle = (mine + end) / 2;
      (first_blocks[middle] <= block.index ? mine : end) = middle;
    }
    const Update<Formula> update = updates[mine];
    update({.index = block.index - first_blocks[mine],
            .threads = block.threads,
            .shared = block.shared});
  }
};

template <typename Formula>
class UpdateKernel final : public Kernel {
 public:
  /// `keep`: memory that the formula points to.
  UpdateKernel(Queue& queue, const Update<Formula>& body, std::shared_ptr<UploadedSchedule> keep)
      : queue_(queue), body_(body), keep_(std::move(keep)), blocks_(blocks_of(body)) {}

  void run(const StepContext&) override {
    if (blocks_ == 0) return;
    constexpr auto kShared = sizeof(typename Formula::Factors);
    if (merged_.count == 0) {
      for_each_block(queue_, blocks_, Update<Formula>::kThreads, kShared, body_);
    } else {
      for_each_block(queue_, blocks_, Update<Formula>::kThreads, kShared, merged_);
    }
  }

  bool merges_with(const Kernel& other) const override {
    return dynamic_cast<const UpdateKernel*>(&other) != nullptr;
  }

  void take_over(std::span<Kernel* const> others) override {
    std::vector<Update<Formula>> updates{body_};
    std::vector<std::int64_t> first_blocks{0};
    for (Kernel* each : others) {
      auto& other = dynamic_cast<UpdateKernel&>(*each);
      updates.push_back(other.body_);
      first_blocks.push_back(blocks_);
      blocks_ += std::exchange(other.blocks_, 0);
    }
    updates_ = upload<Update<Formula>>(queue_, updates);
    first_blocks_ = upload<std::int64_t>(queue_, first_blocks);
    merged_ = {.updates = updates_.template as<Update<Formula>>(),
               .first_blocks = first_blocks_.template as<std::int64_t>(),
               .count = static_cast<int>(updates.size())};
  }

 private:
  static std::int64_t blocks_of(const Update<Formula>& body) {
    constexpr std::int64_t kElements = Update<Formula>::kBlockElements;
    return (body.count + kElements - 1) / kElements;
  }

  Queue& queue_;
  Update<Formula> body_;
  std::shared_ptr<UploadedSchedule> keep_;
  std::int64_t blocks_;  ///< of the launch; 0: another one does the work
  MergedUpdates<Formula> merged_{};
  Scratch updates_, first_blocks_;
};

/// make(schedule) returns the formula. Variables are those of the request, in its order.
template <typename MakeFormula>
KernelPointer build_update(const KernelRequest& request, const MakeFormula& make) {
  if (request.variables[0]->tensor.type.element != ElementType::F32) return nullptr;
  Queue* queue = &queue_of(request);
  const auto uploaded = std::make_shared<UploadedSchedule>(*queue, request.node.attributes);
  const auto formula = make(uploaded->schedule());
  for (const VariableStorage* variable : request.variables) {
    check(are_aligned({variable->tensor.data}), "variables are aligned to 64 bytes");
  }
  if (request.variables[0]->sharing != Sharing::None) {
    return build_shared_update(request, formula, uploaded);
  }
  using Body = Update<std::remove_const_t<decltype(formula)>>;
  Body body{.formula = formula,
            .step = queue->values(),
            .gradient = request.inputs.empty() ? nullptr : request.inputs[0].f32(),
            .variables = {},
            .count = request.variables[0]->tensor.elements(),
            .gradient_aligned = are_aligned({address_of(request.inputs, 0)})};
  for (int k = 0; k < Body::kVariables; ++k) {
    body.variables[k] = request.variables[static_cast<std::size_t>(k)]->tensor.f32();
  }
  return std::make_unique<UpdateKernel<std::remove_const_t<decltype(formula)>>>(*queue, body,
                                                                                uploaded);
}

}  // namespace regatta::cuda
