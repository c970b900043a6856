// SPDX-License-Identifier: Apache-2.0
//
// Code that all updates share: one thread of each block computes the factors of the step from the
// queue's step values, then the block updates its elements. shared_update.h handles variables that
// other queues access at any time. A Formula has
//   Factors factors(const StepValues&), which computes the factors of a step
//   update(factors, gradient, variables), which updates one element of each of kVariables variables
// Variables and gradients are f32. For .cu files only.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/cuda/device/device_schedule.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/ops/element.h"
#include "kernels/cuda/ops/merged.h"
#include "kernels/cuda/ops/shared_update.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {

template <typename Formula>
struct Update {
  using Factors = typename Formula::Factors;
  static constexpr int kVariables = Formula::kVariables;
  static constexpr int kThreads = 256;
  static constexpr int kWidth = kPackWidth<float>;
  static constexpr int kTurns = 4;  ///< packs per thread
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

  /// Reads a pack of the gradient; element by element if the gradient, which may lie inside a
  /// bucket, is not aligned to packs.
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

/// Body that runs several updates by the same formula in one launch.
template <typename Formula>
struct MergedUpdates {
  Merged<Update<Formula>> all;

  __host__ __device__ void operator()(const Block& block) const {
    const int mine = all.at(block.index);
    const Update<Formula> update = all.bodies[mine];
    update({.index = block.index - all.begins[mine],
            .threads = block.threads,
            .shared = block.shared});
  }
};

template <typename Formula>
class UpdateKernel final : public Kernel {
 public:
  /// `keep` owns the memory that the formula points to.
  UpdateKernel(Queue& queue, const Update<Formula>& body, std::shared_ptr<UploadedSchedule> keep)
      : queue_(queue), body_(body), keep_(std::move(keep)), blocks_(blocks_of(body)) {}

  void run(const StepContext&) override {
    if (blocks_ == 0) return;
    constexpr auto kShared = sizeof(typename Formula::Factors);
    const Merged<Update<Formula>> merged = memory_.merged();
    if (merged.count == 0) {
      for_each_block(queue_, blocks_, Update<Formula>::kThreads, kShared, body_);
    } else {
      for_each_block(queue_, blocks_, Update<Formula>::kThreads, kShared,
                     MergedUpdates<Formula>{merged});
    }
  }

  bool merges_with(const Kernel& other) const override {
    return dynamic_cast<const UpdateKernel*>(&other) != nullptr;
  }

  void take_over(std::span<Kernel* const> others) override {
    std::vector<Update<Formula>> updates{body_};
    std::vector<std::int64_t> begins{0};
    for (Kernel* each : others) {
      auto& other = dynamic_cast<UpdateKernel&>(*each);
      updates.push_back(other.body_);
      begins.push_back(blocks_);
      blocks_ += std::exchange(other.blocks_, 0);
    }
    memory_ = MergedMemory<Update<Formula>>(queue_, updates, begins);
  }

 private:
  static std::int64_t blocks_of(const Update<Formula>& body) {
    constexpr std::int64_t kElements = Update<Formula>::kBlockElements;
    return (body.count + kElements - 1) / kElements;
  }

  Queue& queue_;
  Update<Formula> body_;
  std::shared_ptr<UploadedSchedule> keep_;
  std::int64_t blocks_;  ///< blocks of the launch; 0: another kernel's launch does the work
  MergedMemory<Update<Formula>> memory_;
};

/// Builds the kernel of an update. make(schedule) must return the formula; its variables are the
/// request's, in the same order.
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
