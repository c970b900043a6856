// SPDX-License-Identifier: Apache-2.0
//
// dense: y = x wᵀ; dx = dy w; dw = dyᵀ x. Products by oneDNN, transposed by their layout alone, but
// for those that are too small for a library call.
#include "kernels/cpu/dense_small.h"
#include "kernels/cpu/factories.h"
#include "kernels/cpu/onednn.h"

namespace regatta::cpu {
namespace {

using onednn::Descriptor;
using onednn::Format;

Descriptor matrix(const TensorType& t) {
  return onednn::describe({t.dim(0), t.dim(1)}, t.element, Format::ab);
}

Descriptor transposed(const TensorType& t) {
  return onednn::describe({t.dim(1), t.dim(0)}, t.element, Format::ba);
}

KernelPointer multiply(const onednn::Product& product, const Tensor& left, const Tensor& right,
                       const Tensor& result) {
  const onednn::Choice choice = onednn::choose(product);
  auto program = std::make_unique<onednn::Program>();
  program->add(choice.primitive, choice.scratchpad,
               {{DNNL_ARG_SRC, program->bind(choice.x, left.data)},
                {DNNL_ARG_WEIGHTS, program->bind(choice.weights, right.data)},
                {DNNL_ARG_DST, program->bind(choice.y, result.data)}});
  return program;
}

/// The three tensors have B I, I O and B O elements in some order: their product is the square of
/// the B I O multiply-adds.
bool is_small(const KernelRequest& request) {
  const Tensor& a = request.inputs[0];
  const Tensor& b = request.inputs[1];
  const Tensor& y = request.outputs[0];
  if (a.type.element != ElementType::F32) return false;
  const double square = static_cast<double>(a.elements()) * static_cast<double>(b.elements()) *
                        static_cast<double>(y.elements());
  return square <= static_cast<double>(kSmallProduct) * static_cast<double>(kSmallProduct);
}

}  // namespace

KernelPointer dense(const KernelRequest& request) {
  if (is_small(request)) return dense_small(request);
  const Tensor x = request.inputs[0], w = request.inputs[1], y = request.outputs[0];
  return multiply({matrix(x.type), transposed(w.type), matrix(y.type)}, x, w, y);
}

KernelPointer dense_backward_data(const KernelRequest& request) {
  if (is_small(request)) return dense_small_backward_data(request);
  const Tensor dy = request.inputs[0], w = request.inputs[1], dx = request.outputs[0];
  return multiply({matrix(dy.type), matrix(w.type), matrix(dx.type)}, dy, w, dx);
}

KernelPointer dense_backward_weights(const KernelRequest& request) {
  if (is_small(request)) return dense_small_backward_weights(request);
  const Tensor dy = request.inputs[0], x = request.inputs[1], dw = request.outputs[0];
  return multiply({transposed(dy.type), matrix(x.type), matrix(dw.type)}, dy, x, dw);
}

}  // namespace regatta::cpu
