// SPDX-License-Identifier: Apache-2.0
//
// Products by oneDNN; a transposed operand is one with another layout.
#include "kernels/cpu/dense_paths.h"
#include "kernels/cpu/onednn.h"

namespace regatta::cpu {
namespace {

using onednn::Descriptor;
using onednn::Format;

Descriptor matrix(const TensorType& t) {
  return onednn::describe({t.rows(), t.columns()}, t.element, Format::ab);
}

Descriptor transposed(const TensorType& t) {
  return onednn::describe({t.columns(), t.rows()}, t.element, Format::ba);
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

}  // namespace

KernelPointer dense_large(const KernelRequest& request) {
  const Tensor x = request.inputs[0], w = request.inputs[1], y = request.outputs[0];
  return multiply({matrix(x.type), transposed(w.type), matrix(y.type)}, x, w, y);
}

KernelPointer dense_large_backward_data(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], w = request.inputs[1], dx = request.outputs[0];
  return multiply({matrix(dy.type), matrix(w.type), matrix(dx.type)}, dy, w, dx);
}

KernelPointer dense_large_backward_weights(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], x = request.inputs[1], dw = request.outputs[0];
  return multiply({transposed(dy.type), matrix(x.type), matrix(dw.type)}, dy, x, dw);
}

}  // namespace regatta::cpu
