// SPDX-License-Identifier: Apache-2.0
//
// max_pool: the largest value of each window, and its position in the window (row-major, the first
// of equals) as u8. average_pool: the mean of each window; pixels outside the image count as zero.
#include "kernels/graph/ops/rules.h"

namespace regatta {
namespace {

Attributes window_attributes(const Window& window) {
  return {{"kernel", window.kernel}, {"stride", window.stride}, {"padding", window.padding}};
}

}  // namespace

Value Builder::max_pool(Value x, const Window& window) {
  return node(Op::MaxPool, {x}, window_attributes(window));
}

Value Builder::average_pool(Value x, const Window& window) {
  return node(Op::AveragePool, {x}, window_attributes(window));
}

namespace rules {
namespace {

TensorType pooled(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.inputs[0].rank() == 4, "pooling: x [B, H, W, C]");
  const TensorType& x = request.inputs[0];
  const std::int64_t kernel = request.attributes.integer("kernel");
  const std::int64_t stride = request.attributes.integer("stride");
  const std::int64_t padding = request.attributes.integer("padding");
  check(kernel > 0 && kernel <= 16 && stride > 0 && padding >= 0 && padding < kernel &&
            x.dim(1) + 2 * padding >= kernel && x.dim(2) + 2 * padding >= kernel,
        "pooling: the window fits into the padded image and its side is at most 16");
  const auto side = [&](std::int64_t n) { return (n + 2 * padding - kernel) / stride + 1; };
  return {x.element, {x.dim(0), side(x.dim(1)), side(x.dim(2)), x.dim(3)}};
}

Attributes backward_attributes(Builder& builder, const Node& node) {
  Attributes attributes = node.attributes;
  attributes.set("dims", builder.graph().type(node.inputs[0]).dims);
  return attributes;
}

}  // namespace

Types infer_max_pool(const InferRequest& request) {
  const TensorType y = pooled(request);
  return {y, {ElementType::U8, y.dims}};
}

Types infer_average_pool(const InferRequest& request) { return {pooled(request)}; }

Types infer_pool_backward(const InferRequest& request) {
  check(!request.inputs.empty(), "a backward pooling takes dy");
  std::vector<std::int64_t> dims = request.attributes.integers("dims");
  dims[0] = request.inputs[0].dim(0);
  return {{request.inputs[0].element, dims}};
}

Values gradient_max_pool(Builder& builder, Value y, const Node& node,
                         std::span<const Value> gradients) {
  return {builder.node(Op::MaxPoolBackward, {gradients[0], {y.node, 1}},
                       backward_attributes(builder, node))};
}

Values gradient_average_pool(Builder& builder, Value, const Node& node,
                             std::span<const Value> gradients) {
  return {
      builder.node(Op::AveragePoolBackward, {gradients[0]}, backward_attributes(builder, node))};
}

}  // namespace rules
}  // namespace regatta
