// SPDX-License-Identifier: Apache-2.0
//
// convolution: y[b,p,q,o] = sum over r,s,i of x[b, p*stride+r-padding, q*stride+s-padding, i]
// w[o,r,s,i], zero outside x. Output side: (side + 2 padding - kernel) / stride + 1, rounded down.
// With g groups, inputs and outputs are cut into g runs, and a run of outputs reads its own run of
// inputs: i counts within the run. The attribute `groups` is set only when g is not 1.
#include "kernels/graph/graph.h"
#include "kernels/graph/ops/rules.h"

namespace regatta {

Value Builder::convolution(Value x, Value weights, const Window& window, std::int64_t groups) {
  Attributes attributes{
      {"kernel", window.kernel}, {"stride", window.stride}, {"padding", window.padding}};
  if (groups != 1) attributes.set("groups", groups);
  return node(Op::Convolution, {x, weights}, attributes);
}

namespace rules {

Types infer_convolution(const InferRequest& request) {
  check(request.inputs.size() == 2, "convolution takes x and w");
  const TensorType& x = request.inputs[0];
  const TensorType& w = request.inputs[1];
  const std::int64_t kernel = request.attributes.integer("kernel");
  const std::int64_t stride = request.attributes.integer("stride");
  const std::int64_t padding = request.attributes.integer("padding");
  const std::int64_t groups =
      request.attributes.has("groups") ? request.attributes.integer("groups") : 1;
  check(groups > 0 && x.rank() == 4 && w.rank() == 4 && x.dim(3) == groups * w.dim(3) &&
            w.dim(0) % groups == 0 && w.dim(1) == kernel && w.dim(2) == kernel,
        "convolution: x [B, H, W, I], w [O, K, K, I / groups]");
  check(stride > 0 && padding >= 0 && x.dim(1) + 2 * padding >= kernel &&
            x.dim(2) + 2 * padding >= kernel,
        "convolution: the window fits into the padded image");
  const auto side = [&](std::int64_t n) { return (n + 2 * padding - kernel) / stride + 1; };
  return {{x.element, {x.dim(0), side(x.dim(1)), side(x.dim(2)), w.dim(0)}}};
}

Types infer_shaped_like_attribute(const InferRequest& request) {
  check(request.inputs.size() == 2, "a backward convolution takes dy and the other operand");
  std::vector<std::int64_t> dims = request.attributes.integers("dims");
  const bool rebuilds_images = request.attributes.has("images");
  // The batch follows the input, so that a rewrite that splits the batch can infer it again.
  if (rebuilds_images) dims[0] = request.inputs[0].dim(0);
  return {{rebuilds_images ? request.inputs[0].element : ElementType::F32, dims}};
}

Values gradient_convolution(Builder& builder, Value, const Node& node,
                            std::span<const Value> gradients) {
  const Value x = node.inputs[0];
  const Value w = node.inputs[1];
  Attributes weights = node.attributes;
  weights.set("dims", builder.graph().type(w).dims);
  const Value dw = builder.node(Op::ConvolutionBackwardWeights, {gradients[0], x}, weights);
  if (!builder.wants(0)) return {{}, dw};
  Attributes data = node.attributes;
  data.set("dims", builder.graph().type(x).dims);
  data.set("images", std::int64_t{1});
  return {builder.node(Op::ConvolutionBackwardData, {gradients[0], w}, data), dw};
}

std::int64_t multiply_adds_convolution(const Graph& graph, const Node& node) {
  const TensorType& weights = graph.type(node.inputs[1]);
  return node.outputs[0].elements() * weights.elements() / weights.dim(0);
}

std::int64_t multiply_adds_convolution_data(const Graph& graph, const Node& node) {
  const TensorType& weights = graph.type(node.inputs[1]);
  return graph.type(node.inputs[0]).elements() * weights.elements() / weights.dim(0);
}

std::int64_t multiply_adds_convolution_weights(const Graph& graph, const Node& node) {
  const TensorType& weights = node.outputs[0];
  return graph.type(node.inputs[0]).elements() * weights.elements() / weights.dim(0);
}

}  // namespace rules
}  // namespace regatta
