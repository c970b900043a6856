// SPDX-License-Identifier: Apache-2.0
//
// embed: y = rows of a table; dtable[v] = sum of dy over the tokens v, in the order of the tokens.
// With the attribute `offset` the table holds only the rows from there on, as a shard does; a token
// without a row yields zero.
// positions: y = x + rows; drows = sum of dy over the batch.
#include "kernels/graph/ops/rules.h"

namespace regatta {

Value Builder::embed(Value tokens, Value table) { return node(Op::Embed, {tokens, table}); }
Value Builder::positions(Value x, Value rows) { return node(Op::Positions, {x, rows}); }

namespace rules {

Types infer_embed(const InferRequest& request) {
  check(request.inputs.size() == 2 && request.inputs[0].element == ElementType::I32 &&
            request.inputs[1].rank() == 2,
        "embed: tokens [...] i32, table [V, C]");
  TensorType y{request.inputs[1].element, request.inputs[0].dims};
  y.dims.push_back(request.inputs[1].columns());
  return {y};
}

Types infer_embed_backward(const InferRequest& request) {
  check(request.inputs.size() == 2 && request.inputs[1].element == ElementType::I32 &&
            request.inputs[0].rows() == request.inputs[1].elements(),
        "embed_backward: dy [..., C], tokens [...] i32");
  return {{ElementType::F32, {request.attributes.integer("rows"), request.inputs[0].columns()}}};
}

Values gradient_embed(Builder& builder, Value, const Node& node, std::span<const Value> gradients) {
  const std::int64_t rows = builder.graph().type(node.inputs[1]).dim(0);
  return {{}, builder.node(Op::EmbedBackward, {gradients[0], node.inputs[0]}, {{"rows", rows}})};
}

Types infer_positions(const InferRequest& request) {
  check(request.inputs.size() == 2 && request.inputs[0].rank() == 3 &&
            request.inputs[1] ==
                TensorType{ElementType::F32, {request.inputs[0].dim(1), request.inputs[0].dim(2)}},
        "positions: x [B, S, C], rows [S, C] f32");
  return {request.inputs[0]};
}

Types infer_positions_backward(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.inputs[0].rank() == 3,
        "positions_backward: dy [B, S, C]");
  return {{ElementType::F32, {request.inputs[0].dim(1), request.inputs[0].dim(2)}}};
}

Values gradient_positions(Builder& builder, Value, const Node&, std::span<const Value> gradients) {
  return {gradients[0], builder.node(Op::PositionsBackward, {gradients[0]})};
}

}  // namespace rules
}  // namespace regatta
