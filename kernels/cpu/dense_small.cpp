// SPDX-License-Identifier: Apache-2.0
//
// Dense layers in plain loops. For up to kWidest inputs and outputs, bounds are constants and the
// compiler unrolls the loops: a loop of five turns costs more than its arithmetic. Extent 0 stands
// for any number.
#include "kernels/cpu/dense_paths.h"

#include <array>
#include <utility>

namespace regatta::cpu {
namespace {

constexpr int kWidest = 8;

/// Shapes: x [batch, inputs], w [outputs, inputs], y [batch, outputs].
struct Product {
  float* x;
  float* w;
  float* y;
  std::int64_t batch;
  std::int64_t inputs;
  std::int64_t outputs;
};

using Loops = void (*)(const Product&);

template <int kInputs, int kOutputs>
void forward(const Product& p) {
  const std::int64_t inputs = kInputs > 0 ? kInputs : p.inputs;
  const std::int64_t outputs = kOutputs > 0 ? kOutputs : p.outputs;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      const float* x = p.x + b * inputs;
      const float* w = p.w + o * inputs;
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = 0; i < inputs; ++i) sum += x[i] * w[i];
      p.y[b * outputs + o] = sum;
    }
  }
}

/// Computes dx into x from dy in y.
template <int kInputs, int kOutputs>
void backward_data(const Product& p) {
  const std::int64_t inputs = kInputs > 0 ? kInputs : p.inputs;
  const std::int64_t outputs = kOutputs > 0 ? kOutputs : p.outputs;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    float* dx = p.x + b * inputs;
    for (std::int64_t i = 0; i < inputs; ++i) dx[i] = 0;
    for (std::int64_t o = 0; o < outputs; ++o) {
      const float dy = p.y[b * outputs + o];
      const float* w = p.w + o * inputs;
#pragma omp simd
      for (std::int64_t i = 0; i < inputs; ++i) dx[i] += dy * w[i];
    }
  }
}

/// Computes dw into w from dy in y.
template <int kInputs, int kOutputs>
void backward_weights(const Product& p) {
  const std::int64_t inputs = kInputs > 0 ? kInputs : p.inputs;
  const std::int64_t outputs = kOutputs > 0 ? kOutputs : p.outputs;
  for (std::int64_t k = 0; k < outputs * inputs; ++k) p.w[k] = 0;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    const float* x = p.x + b * inputs;
    for (std::int64_t o = 0; o < outputs; ++o) {
      const float dy = p.y[b * outputs + o];
      float* dw = p.w + o * inputs;
#pragma omp simd
      for (std::int64_t i = 0; i < inputs; ++i) dw[i] += dy * x[i];
    }
  }
}

enum class Pass : std::uint8_t { Forward, BackwardData, BackwardWeights };

template <Pass kPass, int kInputs, int kOutputs>
constexpr Loops loops() {
  switch (kPass) {
    case Pass::Forward: return forward<kInputs, kOutputs>;
    case Pass::BackwardData: return backward_data<kInputs, kOutputs>;
    case Pass::BackwardWeights: return backward_weights<kInputs, kOutputs>;
  }
  return nullptr;
}

/// The loops by extents, at index (inputs - 1) * kWidest + (outputs - 1).
template <Pass kPass, int... kIndex>
constexpr auto unrolled_loops(std::integer_sequence<int, kIndex...>) {
  return std::array{loops<kPass, kIndex / kWidest + 1, kIndex % kWidest + 1>()...};
}

template <Pass kPass>
Loops loops_for(const Product& p) {
  static constexpr auto kUnrolled =
      unrolled_loops<kPass>(std::make_integer_sequence<int, kWidest * kWidest>{});
  if (p.inputs > kWidest || p.outputs > kWidest) return loops<kPass, 0, 0>();
  return kUnrolled[static_cast<std::size_t>((p.inputs - 1) * kWidest + p.outputs - 1)];
}

template <Pass kPass>
KernelPointer build(const Tensor& x, const Tensor& w, const Tensor& y) {
  const Product product{.x = x.f32(),
                        .w = w.f32(),
                        .y = y.f32(),
                        .batch = x.type.rows(),
                        .inputs = x.type.columns(),
                        .outputs = y.type.columns()};
  return make_kernel(
      [product, run = loops_for<kPass>(product)](const StepContext&) { run(product); });
}

}  // namespace

KernelPointer dense_small(const KernelRequest& request) {
  return build<Pass::Forward>(request.inputs[0], request.inputs[1], request.outputs[0]);
}

KernelPointer dense_small_backward_data(const KernelRequest& request) {
  return build<Pass::BackwardData>(request.outputs[0], request.inputs[1], request.inputs[0]);
}

KernelPointer dense_small_backward_weights(const KernelRequest& request) {
  return build<Pass::BackwardWeights>(request.inputs[1], request.outputs[0], request.inputs[0]);
}

}  // namespace regatta::cpu
