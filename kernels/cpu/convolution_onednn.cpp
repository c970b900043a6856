// SPDX-License-Identifier: Apache-2.0
//
// Convolutions by oneDNN. Images stay NHWC. Weights are small: each run converts them from [O, K,
// K, I / groups] to the layout that oneDNN prefers, and gradients back.
#include "kernels/cpu/convolution_paths.h"
#include "kernels/cpu/onednn.h"

namespace regatta::cpu {
namespace {

using onednn::Descriptor;
using onednn::Pass;

/// The tensors of a convolution, of which a pass computes one.
struct Tensors {
  Tensor x;
  Tensor weights;
  Tensor y;
  std::int64_t groups() const { return x.type.dim(3) / weights.type.dim(3); }
};

/// Weights in the layout that the implementation prefers.
Descriptor any_weights(const Tensors& tensors) {
  return onednn::describe_weights(tensors.weights.type, tensors.groups(),
                                  onednn::Layout::Preferred);
}

/// Weights in the layout of the graph's tensor.
Descriptor plain_weights(const Tensors& tensors) {
  return onednn::describe_weights(tensors.weights.type, tensors.groups(), onednn::Layout::Plain);
}

onednn::Choice choose(const KernelRequest& request, const Tensors& tensors, Pass pass) {
  return onednn::choose(onednn::Convolution{.pass = pass,
                                            .x = onednn::describe_images(tensors.x.type),
                                            .weights = any_weights(tensors),
                                            .y = onednn::describe_images(tensors.y.type),
                                            .stride = request.node.attributes.integer("stride"),
                                            .padding = request.node.attributes.integer("padding")});
}

}  // namespace

KernelPointer convolution_onednn(const KernelRequest& request) {
  const Tensors t{request.inputs[0], request.inputs[1], request.outputs[0]};
  const onednn::Choice choice = choose(request, t, Pass::Forward);
  auto program = std::make_unique<onednn::Program>();
  const dnnl::memory w = program->read_as(choice.weights, plain_weights(t), t.weights.data);
  program->add(choice.primitive, choice.scratchpad,
               {{DNNL_ARG_SRC, program->bind(choice.x, t.x.data)},
                {DNNL_ARG_WEIGHTS, w},
                {DNNL_ARG_DST, program->bind(choice.y, t.y.data)}});
  return program;
}

KernelPointer convolution_backward_data_onednn(const KernelRequest& request) {
  const Tensors t{request.outputs[0], request.inputs[1], request.inputs[0]};
  const onednn::Choice choice = choose(request, t, Pass::BackwardData);
  auto program = std::make_unique<onednn::Program>();
  const dnnl::memory w = program->read_as(choice.weights, plain_weights(t), t.weights.data);
  program->add(choice.primitive, choice.scratchpad,
               {{DNNL_ARG_DIFF_DST, program->bind(choice.y, t.y.data)},
                {DNNL_ARG_WEIGHTS, w},
                {DNNL_ARG_DIFF_SRC, program->bind(choice.x, t.x.data)}});
  return program;
}

KernelPointer convolution_backward_weights_onednn(const KernelRequest& request) {
  const Tensors t{request.inputs[1], request.outputs[0], request.inputs[0]};
  const onednn::Choice choice = choose(request, t, Pass::BackwardWeights);
  auto program = std::make_unique<onednn::Program>();
  const Descriptor plain = plain_weights(t);
  const dnnl::memory dw = program->write_as(choice.weights, plain, t.weights.data);
  program->add(choice.primitive, choice.scratchpad,
               {{DNNL_ARG_DIFF_DST, program->bind(choice.y, t.y.data)},
                {DNNL_ARG_SRC, program->bind(choice.x, t.x.data)},
                {DNNL_ARG_DIFF_WEIGHTS, dw}});
  program->copy(dw, program->bind(plain, t.weights.data));
  return program;
}

}  // namespace regatta::cpu
