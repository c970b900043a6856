// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/winograd.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace regatta {
namespace {

constexpr std::string_view kMark = "winograd";

// What transforms cost grows with the channels, what they save with inputs x outputs, and weights
// are transformed however few tiles there are. On an AMD Zen 5 (oneDNN 2.6.3, copies counted)
// each pass of each layer of airbench94 and resnet9 above this gains, of 24 -> 64 channels on
// 31 x 31 pixels (13 million products an image: 1.2 to 1.5 times as fast), of 64 -> 64 on 15 x 15
// (8), of 256 -> 256 on 3 x 3 (5.3) and all that are wider (1.5 to 3 times). The layers of
// resnet9_thin, of 4.7 million, gain little at best.
constexpr std::int64_t kFewestChannels = 24;         // of x and of y
constexpr std::int64_t kFewestProducts = 5'000'000;  // of an image, as a direct sum has them

/// The tensors of a convolution, whichever of them its node computes.
struct Shape {
  const TensorType& x;
  const TensorType& weights;
};

std::optional<Shape> shape_of(const Graph& graph, const Node& node) {
  const auto input = [&](std::size_t i) -> const TensorType& { return graph.type(node.inputs[i]); };
  switch (node.op) {
    case Op::Convolution: return Shape{input(0), input(1)};
    case Op::ConvolutionBackwardData: return Shape{node.outputs[0], input(1)};
    case Op::ConvolutionBackwardWeights: return Shape{input(1), node.outputs[0]};
    default: return std::nullopt;
  }
}

bool is_possible(const Shape& shape, const Attributes& attributes) {
  return shape.x.element == ElementType::F32 && shape.weights.element == ElementType::F32 &&
         attributes.integer("kernel") == 3 && attributes.integer("stride") == 1 &&
         attributes.integer("padding") == 1 && !attributes.has("groups");
}

bool is_wide(const Shape& shape) {
  const std::int64_t inputs = shape.weights.dim(3), outputs = shape.weights.dim(0);
  const std::int64_t pixels = shape.x.dim(1) * shape.x.dim(2);
  return std::min(inputs, outputs) >= kFewestChannels &&
         9 * pixels * inputs * outputs >= kFewestProducts;
}

}  // namespace

bool gains_by_winograd(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::optional<Shape> shape = shape_of(graph, node);
  return shape && is_possible(*shape, node.attributes) && is_wide(*shape);
}

Step by_winograd(const Step& step) {
  Step result = step;
  result.graph = Graph();
  for (const Variable& variable : step.graph.variables()) result.graph.add(variable);
  for (NodeId id = 0; id < static_cast<NodeId>(step.graph.nodes().size()); ++id) {
    Node node = step.graph.node(id);
    if (gains_by_winograd(step.graph, id)) mark_for_winograd(node);
    result.graph.add(std::move(node));
  }
  return result;
}

void mark_for_winograd(Node& node) { node.attributes.set(kMark, std::int64_t{1}); }

bool is_by_winograd(const Node& node) { return node.attributes.has(kMark); }

bool has_winograd(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), is_by_winograd);
}

}  // namespace regatta
