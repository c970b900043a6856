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
  const std::int64_t blocks = (body.count + Body::kBlockElements - 1) / Body::kBlockElements;
  return make_kernel([=, keep = uploaded](const StepContext&) {
    for_each_block(*queue, blocks, Body::kThreads, sizeof(typename Body::Factors), body);
  });
}

}  // namespace regatta::cuda
