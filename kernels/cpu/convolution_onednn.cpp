// SPDX-License-Identifier: Apache-2.0
//
// Convolutions by oneDNN: images stay NHWC; weights, which are small, are brought each run from
// [O, K, K, I / groups] to the layout that oneDNN's implementation prefers, and gradients back.
#include "kernels/cpu/convolution_paths.h"
#include "kernels/cpu/onednn.h"

namespace regatta::cpu {
namespace {

using onednn::Descriptor;
using onednn::Format;
using onednn::Pass;

dnnl::memory::dims image_dims(const TensorType& t) {
  return {t.dim(0), t.dim(3), t.dim(1), t.dim(2)};
}

Descriptor image(const TensorType& t) {
  return onednn::describe(image_dims(t), t.element, Format::nhwc);
}

/// The tensors of a convolution, whichever of them a pass computes.
struct Tensors {
  Tensor x;
  Tensor weights;
  Tensor y;
  std::int64_t groups() const { return x.type.dim(3) / weights.type.dim(3); }
};

/// oneDNN's dimensions of weights: with several groups they come first, before a group's outputs.
dnnl::memory::dims weights_dims(const Tensors& tensors) {
  const TensorType& w = tensors.weights.type;
  const std::int64_t groups = tensors.groups();
  if (groups == 1) return image_dims(w);
  return {groups, w.dim(0) / groups, w.dim(3), w.dim(1), w.dim(2)};
}

/// In the layout that an implementation wants.
Descriptor any_weights(const Tensors& tensors) {
  return onednn::describe(weights_dims(tensors), tensors.weights.type.element, Format::any);
}

/// As they lie in the graph's tensor.
Descriptor plain_weights(const Tensors& tensors) {
  return onednn::describe(weights_dims(tensors), tensors.weights.type.element,
                          tensors.groups() == 1 ? Format::ohwi : Format::gohwi);
}

onednn::Choice choose(const KernelRequest& request, const Tensors& tensors, Pass pass) {
  return onednn::choose(onednn::Convolution{.pass = pass,
                                            .x = image(tensors.x.type),
                                            .weights = any_weights(tensors),
                                            .y = image(tensors.y.type),
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
