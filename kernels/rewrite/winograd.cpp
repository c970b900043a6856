// SPDX-License-Identifier: Apache-2.0
#include "kernels/rewrite/winograd.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace regatta {
namespace {

constexpr std::string_view kMark = "winograd";

// Measured by convolution_bench of 3690168c on an AMD Zen 5 (AVX-512, oneDNN 2.6.3, 2 threads),
// every pass of every layer of airbench94, resnet9 and resnet9_thin. In f32 all layers of 16
// channels (one register) or more gain, from 1.02 times (256 -> 256 channels on 3 x 3 pixels,
// backward data) to 3.1 times (512 -> 512 on 4 x 4, forward). bf16 is multiplied as f32 there;
// layers of more channels with images of whole tiles gain 1.07 to 1.8 times: 64 -> 128 on 32 x 32
// and on 8 x 8, 128 -> 128 and 128 -> 256 on 16 x 16 (backward weights of the last: 0.98), 256 ->
// 512 on 8 x 8 and 512 -> 512 on 4 x 4 (backward data of the last: 0.78).
constexpr std::int64_t kFewestChannels = 16;  // of x and of y
constexpr std::int64_t kFewestChannelsOfBf16 = 64;
constexpr std::int64_t kTileSide = 4;  // pixels

/// The tensors of a convolution, whether forward or backward.
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

bool is_possible(const Attributes& attributes) {
  return attributes.integer("kernel") == 3 && attributes.integer("stride") == 1 &&
         attributes.integer("padding") == 1 && !attributes.has("groups");
}

bool is_whole_tiles(const TensorType& images) {
  return images.dim(1) % kTileSide == 0 && images.dim(2) % kTileSide == 0;
}

bool is_wide(const Shape& shape) {
  const std::int64_t channels = std::min(shape.weights.dim(3), shape.weights.dim(0));
  return shape.x.element == ElementType::F32
             ? channels >= kFewestChannels
             : channels >= kFewestChannelsOfBf16 && is_whole_tiles(shape.x);
}

}  // namespace

bool gains_by_winograd(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::optional<Shape> shape = shape_of(graph, node);
  return shape && is_possible(node.attributes) && is_wide(*shape);
}

Step by_winograd(const Step& step) {
  Step result = step;
  result.graph = Graph();
  result.graph.copy_variables_of(step.graph);
  result.graph.reserve_nodes(step.graph.nodes().size());
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
