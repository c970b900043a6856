// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/ops/convolution_shape.h"

#include <limits>

#include "kernels/base/error.h"

namespace regatta::cuda {
namespace {

int size(std::int64_t dimension) {
  check(dimension <= std::numeric_limits<int>::max(), "a side has fewer than 2^31 elements");
  return static_cast<int>(dimension);
}

}  // namespace

ConvolutionTensors tensors_of(ConvolutionPass pass, const KernelRequest& request) {
  const Tensor& first = request.inputs[0];
  const Tensor& second = request.inputs[1];
  const Tensor& output = request.outputs[0];
  switch (pass) {
    case ConvolutionPass::Forward: return {.x = first, .w = second, .y = output};
    case ConvolutionPass::BackwardData: return {.x = output, .w = second, .y = first};
    case ConvolutionPass::BackwardWeights: return {.x = second, .w = output, .y = first};
  }
  return {};
}

ConvolutionShape shape_of(ConvolutionPass pass, const KernelRequest& request) {
  const ConvolutionTensors tensors = tensors_of(pass, request);
  const TensorType& x = tensors.x.type;
  const TensorType& w = tensors.w.type;
  const TensorType& y = tensors.y.type;
  const Attributes& attributes = request.node.attributes;
  const int groups = size(x.dim(3) / w.dim(3));
  return {.batch = size(x.dim(0)),
          .height = size(x.dim(1)),
          .width = size(x.dim(2)),
          .inputs = size(x.dim(3)),
          .rows = size(y.dim(1)),
          .columns = size(y.dim(2)),
          .outputs = size(y.dim(3)),
          .kernel = size(attributes.integer("kernel")),
          .stride = size(attributes.integer("stride")),
          .padding = size(attributes.integer("padding")),
          .groups = groups,
          .group_inputs = size(w.dim(3)),
          .group_outputs = size(y.dim(3)) / groups};
}

bool is_computed(const KernelRequest& request) {
  const ElementType element = request.inputs[0].type.element;
  return request.inputs[1].type.element == element &&
         (element == ElementType::F32 || element == ElementType::BF16);
}

}  // namespace regatta::cuda
